package accounts

import (
	"time"

	"sluice/policy/account"
)

// Trials are the accounts that one request has asked so far, or that had no room for it.
type Trials struct {
	Roll    *Roll
	Longest time.Duration // the longest wait that one of them asks for

	tried []string                 // by id
	spent map[string]time.Duration // until they have room
}

// Judged notes what the answer to an attempt says.
func (t *Trials) Judged(a *Attempt, v account.Verdict) {
	t.tried = append(t.tried, a.ID)
	if v.Outcome == account.Throttled {
		t.Longest = max(t.Longest, v.Wait)
	}
}

// Wait is how long a client is told to wait that gets an answer with this verdict as the last: the longest wait of all, if this account did
// no work either; 0: as the answer says.
func (t *Trials) Wait(v account.Verdict) time.Duration {
	if v.Another || v.Outcome == account.Throttled || v.Outcome == account.Refused {
		return t.Longest
	}
	return 0
}

// Next chooses one that was not asked and has room. wait is called with each choice, and returns how long that has no room; 0: it has some,
// and the attempt MUST be made.
func (t *Trials) Next(want account.Want, wait func(*Attempt) time.Duration) (next Attempt, ok bool) {
	for {
		want.Tried, want.Spent = t.tried, t.spent
		next, choice := t.Roll.Choose(want)
		if choice.Account == nil {
			return Attempt{}, false
		}
		rest := wait(&next)
		if rest == 0 {
			return next, true
		}
		next.Drop()
		if t.spent == nil {
			t.spent = map[string]time.Duration{}
		}
		t.spent[next.ID] = rest
	}
}
