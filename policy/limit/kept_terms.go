package limit

import (
	"sync/atomic"

	"sluice/policy/teams"
)

// KeptTerms keeps the terms of one team, which are the same for all of its requests by one reading of the teams file. The zero KeptTerms is
// ready for use, and safe for concurrent use.
type KeptTerms struct{ read atomic.Pointer[readTerms] }

// readTerms are the terms of a team as one reading of the teams file has it, and with each of its keys that has limits of its own.
type readTerms struct {
	of   *teams.Team
	team Terms
	keys map[string]*Terms
}

// For returns the terms of the team and of one of its keys, by id. They change with a reload, and MUST NOT be changed.
func (k *KeptTerms) For(t *teams.Team, key string) *Terms { return k.share(t, key, 1) }

// share is For, with the part of the rates that one of the replicas has.
func (k *KeptTerms) share(t *teams.Team, key string, replicas int) *Terms {
	r := k.read.Load()
	if r == nil || r.of != t {
		whole := TermsOf(t)
		r = &readTerms{of: t, team: whole.share(replicas), keys: map[string]*Terms{}}
		if t != nil {
			for _, of := range t.CountedKeys() {
				whole = TermsFor(t, of.ID)
				terms := whole.share(replicas)
				r.keys[of.ID] = &terms
			}
		}
		k.read.Store(r)
	}
	if terms := r.keys[key]; terms != nil {
		return terms
	}
	return &r.team
}
