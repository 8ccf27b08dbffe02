package teams

import (
	"net/url"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// MainAccount is the id of the account that serves everything if there is no accounts file. Rows of the ledger, holds and claims that
// name no account are this one's.
const MainAccount = "main"

// Account is an account at the service: a key, the address where it is valid, and the work that it takes. The key is never in the file.
type Account struct {
	// ID names the account in the log, the metrics, the ledger and claims: ^[a-z0-9][a-z0-9-]{0,62}$, unique in the file.
	ID string
	// URL is the service's base address. Default: SLUICE_UPSTREAM_URL.
	URL *url.URL
	// KeyFile is the path of the file that holds only the key, relative to the accounts file unless it is absolute. It is read again when
	// its content changes.
	KeyFile string
	// Models are the patterns of the models that it serves. Nil: all.
	Models []policy.Pattern
	// Teams are the only teams that it serves. Nil: every team that no other account names.
	Teams []string
	// Weight is its share of new work, default 1. 0: it drains: it gets no new work, but its tasks are still queried.
	Weight int
	// Limits are its own rates. Nil: none.
	Limits []AccountLimit
	// QueryRate is how many queries about tasks a second it allows. 0: SLUICE_TASK_QUERY_RATE.
	QueryRate int
	// Quotas holds its quotas, like the house's, under an id that no team has: see [AccountQuotasID]. Nil: none.
	Quotas *Team
	// Region is a word for where it is; teams may name the regions that they allow. Empty: none.
	Region string
}

// AccountQuotasID is the id of the accounts that hold the quotas of an account at the service.
func AccountQuotasID(account string) string { return outsideMark + "account-" + account }

// Accounts is an accounts file: the accounts at the service, in its order.
type Accounts struct {
	List []*Account // at least one, and at least one of them has weight
	// NoFile: there is no accounts file, so there is no other account: requests go to this one even while it is cooling or out.
	NoFile bool

	doc      []byte // what they were read from
	warnings []string
}

// MainAccounts are the accounts without a file: [MainAccount], with the settings' address and the account's limits of
// the teams file.
func MainAccounts(base *url.URL, limits []AccountLimit) *Accounts {
	return &Accounts{List: []*Account{{ID: MainAccount, URL: base, Weight: 1, Limits: limits}}, NoFile: true}
}

// Warnings lists settings that are legal but possibly unintended, one line each, in the order of the file.
func (a *Accounts) Warnings() []string { return slices.Clone(a.warnings) }

// Account returns the account with this id, or nil.
func (a *Accounts) Account(id string) *Account {
	if i := slices.IndexFunc(a.List, func(a *Account) bool { return a.ID == id }); i >= 0 {
		return a.List[i]
	}
	return nil
}

// For lists the accounts that serve a team, also those without weight: the ones that name it or, if none does, those
// that name no team; of these only the accounts in the team's regions.
func (a *Accounts) For(team *Team) (serve []*Account) {
	named := slices.ContainsFunc(a.List, func(a *Account) bool { return slices.Contains(a.Teams, team.ID) })
	for _, one := range a.List {
		if slices.Contains(one.Teams, team.ID) == named && (named || one.Teams == nil) && one.InRegion(team.Regions) {
			serve = append(serve, one)
		}
	}
	return serve
}

// ParseAccounts reads an accounts file, with the strict reader of the teams file. Its error is of type [Faults].
func ParseAccounts(doc []byte) (*Accounts, error) {
	a := &Accounts{doc: doc}
	r, err := strictyaml.Parse(doc, func(root strictyaml.Node) {
		root.AnyMoney = true // see In
		root.Fields(strictyaml.Must("accounts", a.read))
	})
	if err != nil {
		return nil, err
	}
	a.warnings = r.Warned()
	return a, nil
}

// In returns the accounts of a file with their quotas of money counted in the Money of the teams file. Its error is of
// type [Faults]: a quota cannot be counted in it.
func (a *Accounts) In(m unit.Money) (*Accounts, error) {
	in := &Accounts{doc: a.doc, warnings: a.warnings}
	if _, err := strictyaml.Parse(a.doc, func(root strictyaml.Node) {
		root.Money = m
		root.Fields(strictyaml.Must("accounts", in.read))
	}); err != nil {
		return nil, err
	}
	for i, account := range in.List {
		account.KeyFile = a.List[i].KeyFile // the caller may have completed the path
	}
	return in, nil
}

// mostWeight bounds an account's weight, so that sums and products of weights stay small.
const mostWeight = 1000

func (a *Accounts) read(n strictyaml.Node) {
	if n.IsNull() || n.Items("a list of accounts", func(item strictyaml.Node) { a.List = append(a.List, readAccount(item)) }) == 0 {
		n.Fault(strictyaml.Fault{Given: "no account", Allowed: "at least one, or no accounts file"})
	} else if !n.Faulty() && !slices.ContainsFunc(a.List, func(a *Account) bool { return a.Weight > 0 }) {
		n.Fault(strictyaml.Fault{Given: "weight 0 of every account", Allowed: "weight of at least one: nothing can be served without"})
	}
}

func readAccount(n strictyaml.Node) *Account {
	a, quotas := &Account{Weight: 1}, &Team{Owner: OwnerFile, Money: n.Money}
	n.Fields(
		strictyaml.Must("id", strictyaml.Unique(&a.ID, "account id", ownID)),
		strictyaml.May("url", func(v strictyaml.Node) { a.URL = readServiceURL(v) }),
		strictyaml.Must("key_file", strictyaml.One(&a.KeyFile, filePath)),
		strictyaml.May("models", strictyaml.Some(&a.Models, "model patterns", modelPattern)),
		strictyaml.May("teams", strictyaml.Some(&a.Teams, "ids of teams", ownID)),
		strictyaml.May("weight", strictyaml.One(&a.Weight, strictyaml.Whole(0, mostWeight))),
		strictyaml.May("rates", func(v strictyaml.Node) { a.Limits = readAccountLimits(v) }),
		strictyaml.May("query_rate", strictyaml.One(&a.QueryRate, strictyaml.Whole(1, maxCount))),
		strictyaml.May("quotas", strictyaml.Group(quotaFields(&quotas.Quotas)...)),
		strictyaml.May("region", strictyaml.One(&a.Region, ownID)),
	)
	if quotas.ID = AccountQuotasID(a.ID); len(quotas.Quotas) > 0 {
		a.Quotas = quotas
	}
	if a.URL != nil && a.URL.Scheme == "http" && !event.IsThisMachine(a.URL.Hostname()) {
		n.Warn(a.ID + " has an address with http, which sends its key in clear text")
	}
	return a
}

// readServiceURL reads the address of a service. An invalid one is not shown: it may hold a password.
func readServiceURL(n strictyaml.Node) *url.URL {
	const allowed = "an absolute http or https address that ends in /api/v1, without user, query or fragment"
	text, ok := n.Text()
	if !ok {
		n.WrongKind(allowed)
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || !IsServiceURL(u) {
		n.Fault(strictyaml.Fault{Given: "another text (not shown: it may hold a password)", Allowed: allowed})
		return nil
	}
	return u
}

// IsServiceURL reports whether this is the base address of a service. It is strict about the end, because paths are appended to it
// unchanged.
func IsServiceURL(u *url.URL) bool {
	return u != nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.RawPath == "" &&
		strings.HasSuffix(u.Path, "/api/v1")
}

// ServesModel reports whether the account serves the model, whose name is compared as decoded, letter for letter.
// Every account serves work that names no model.
func (a *Account) ServesModel(model string) bool {
	return a.Models == nil || model == "" || policy.MatchAny(a.Models, model)
}

// InRegion reports whether the account is in one of the regions. Nil regions: any.
func (a *Account) InRegion(regions []string) bool {
	return regions == nil || slices.Contains(regions, a.Region)
}
