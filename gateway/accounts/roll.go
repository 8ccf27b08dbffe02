package accounts

import (
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/teams"
)

// Roll is the accounts by one reading of the accounts file. It never changes, so that a request can go by one reading from its beginning to
// its end, together with the teams file that fits it. What is known of an account, its key and its address are the newest all the same.
type Roll struct {
	roster  *Roster
	list    []*listed // in the order of the file
	byID    map[string]*listed
	known   map[string]*Account // also those that were removed: what is known of them outlives that
	sole    *Account            // the only one without an accounts file: nothing is chosen or refused; nil: there is a file
	secrets *upstream.Secrets
}

// listed is an account as one reading of the file has it.
type listed struct {
	*Account

	spec *teams.Account
}

// Choose picks the account for new work, and counts the request with it until [Attempt.End] or [Attempt.Drop], one of which MUST
// follow. Without an Account the choice says why there is none.
func (r *Roll) Choose(want account.Want) (Attempt, account.Choice) {
	now := r.roster.config.Now()
	if a := r.sole; a != nil {
		if len(want.Tried)+len(want.Spent) > 0 {
			return Attempt{}, account.Choice{Refusal: account.Exhausted, Wait: want.Spent[a.ID]}
		}
		a.begin(want.Model, now)
		return Attempt{Account: a, roster: r.roster, model: want.Model, began: now, open: true}, account.Choice{Account: r.list[0].spec}
	}
	var some [8]account.View // on the stack
	for {
		views := r.views(some[:0], want.Model, now)
		choice := account.Choose(views, want, r.roster.config.Luck())
		if choice.Account == nil {
			return Attempt{}, choice
		}
		a := r.byID[choice.Account.ID]
		if probes := a.begin(want.Model, now); probes || !choice.Probe {
			return Attempt{Account: a.Account, roster: r.roster, spec: a.spec, model: want.Model, began: now, open: true, probes: probes}, choice
		}
		a.inFlight.Add(-1) // another request has become the probe in between
	}
}

func (r *Roll) views(list []account.View, model string, now time.Time) []account.View {
	for _, a := range r.list {
		list = append(list, a.view(model, now))
	}
	return list
}

// Serving lists the accounts that may do a piece of work, as the file writes them; a nil one without an accounts file.
func (r *Roll) Serving(want account.Want) []*teams.Account {
	if r.sole != nil {
		return []*teams.Account{nil}
	}
	return account.Serving(r.views(nil, want.Model, r.roster.config.Now()), want)
}

// Away lists the accounts that may do a piece of work, and must not be asked now. Without an accounts file there are none.
func (r *Roll) Away(want account.Want) []account.Away {
	if r.sole != nil {
		return nil
	}
	return account.AllAway(r.views(nil, want.Model, r.roster.config.Now()), want)
}

// Several reports whether there may be another account for a request.
func (r *Roll) Several() bool { return len(r.list) > 1 }

// Chooses reports whether an account may be one that is not asked: there is an accounts file.
func (r *Roll) Chooses() bool { return r.sole == nil }
