package teams

import (
	"net/url"
	"slices"

	"sluice/policy"
)

// MainAccount is the id of the account that serves everything if there is no accounts file. Rows of the ledger, holds and claims that
// name no account are this one's.
const MainAccount = "main"

// Account is an account at the service: a key, where it is good, and which work it takes. Its key is never in the file.
type Account struct {
	// ID names the account in the log, the metrics, the ledger and claims: ^[a-z0-9][a-z0-9-]{0,62}$, unique in the file.
	ID string
	// URL is the service's base address, as SLUICE_UPSTREAM_URL, which it is if the file names none.
	URL *url.URL
	// KeyFile is the path of the file that holds the key and nothing else. It is read again when its content changes.
	KeyFile string
	// Models are the patterns of the models that it serves. Nil: all.
	Models []policy.Pattern
	// Teams are the only teams that it serves. Nil: every team that no other account names.
	Teams []string
	// Weight is its share of new work, default 1. 0: it drains, which is to say that it gets no new work, and its tasks are still queried.
	Weight int
	// Limits are its own rates. Nil: none.
	Limits []AccountLimit
	// QueryRate is how many queries about tasks it allows a second. 0: SLUICE_TASK_QUERY_RATE.
	QueryRate int
	// Quotas is the account that holds its quotas, as the house's does, under an id that no team has: see [AccountQuotasID]. Nil: it has none.
	Quotas *Team
	// Region is a word for where it is; teams may name the regions that they allow. Empty: none.
	Region string
}

// AccountQuotasID is the id of the accounts that hold the quotas of an account at the service.
func AccountQuotasID(account string) string { return outsideMark + "account-" + account }

// Accounts is an accounts file: the accounts at the service, in its order.
type Accounts struct {
	List []*Account // at least one

	warnings []string
}

// ServesModel reports whether the account serves the model, whose name is compared as decoded, letter for letter.
func (a *Account) ServesModel(model string) bool {
	return a.Models == nil || policy.MatchAny(a.Models, model)
}

// InRegion reports whether the account is in one of the regions. Nil regions: any.
func (a *Account) InRegion(regions []string) bool {
	return regions == nil || slices.Contains(regions, a.Region)
}
