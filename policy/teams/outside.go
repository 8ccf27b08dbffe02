package teams

import "strings"

// The accounts outside of the teams are the house's and those that hold the quotas of accounts at the service.

// AccountOfQuotas returns the account at the service whose quotas an account outside of the teams holds; ok is false
// for any other account.
func AccountOfQuotas(id string) (account string, ok bool) {
	return strings.CutPrefix(id, AccountQuotasID(""))
}
