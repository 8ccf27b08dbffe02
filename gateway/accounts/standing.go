package accounts

import (
	"maps"
	"net/url"

	"sluice/policy/account"
)

// Standings are the accounts as operators are shown them, in the order of the file.
func (r *Roster) Standings() []account.Standing {
	list, now := r.now.Load().list, r.config.Now()
	all := make([]account.Standing, len(list))
	for i, a := range list {
		way, s := a.way.Load(), &all[i]
		a.mu.Lock()
		*s = a.health.Standing(a.spec.Weight, now)
		s.Failovers = maps.Clone(a.failovers)
		a.mu.Unlock()
		s.ID, s.Region, s.Address, s.Key, s.InFlight = a.ID, a.spec.Region, address(way.base), masked(way.key.Reveal()), int(a.inFlight.Load())
		s.Limits, s.Quotas = a.spec.Limits, a.spec.Quotas
	}
	return all
}

// address is where an account is, without user and password.
func address(base *url.URL) string {
	plain := *base
	plain.User = nil
	return plain.String()
}

// masked shows enough of a key to tell it from others.
func masked(key string) string {
	const shown = 4
	if len(key) < 4*shown {
		return "…"
	}
	return "…" + key[len(key)-shown:]
}
