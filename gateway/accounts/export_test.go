package accounts

import "sluice/policy/account"

// Choose chooses from the accounts as they are now.
func (r *Pool) Choose(want account.Want) (Attempt, account.Choice) { return r.Now().Choose(want) }
