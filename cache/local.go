package cache

import "github.com/maypok86/otter/v2"

// localBytes bounds the claims that this process keeps beside Redis.
const localBytes = 64 << 20

// localCache keeps the claims that this process used last, weighed by the bytes of their answers.
type localCache struct {
	claims *otter.Cache[owned, *Claim]
}

func newLocalCache() *localCache {
	return &localCache{otter.Must(&otter.Options[owned, *Claim]{
		MaximumWeight: localBytes,
		Weigher:       func(_ owned, c *Claim) uint32 { return uint32(min(len(c.Body)+512, 1<<30)) },
	})}
}

// get returns the claim of a task, or nil. It MUST NOT be changed.
func (l *localCache) get(team, task string) *Claim {
	claim, _ := l.claims.GetIfPresent(owned{team, task})
	return claim
}

// merge keeps a claim unless a later state is known, and returns what is known then. It MUST NOT be changed.
func (l *localCache) merge(claim *Claim) *Claim {
	kept := *claim
	known := &kept
	_, _ = l.claims.Compute(owned{claim.Team, claim.Task}, func(was *Claim, found bool) (*Claim, otter.ComputeOp) {
		if found && was.overtook(&kept) {
			known = was
			return was, otter.CancelOp
		}
		if found {
			kept.Counts = was.Counts
		}
		return &kept, otter.WriteOp
	})
	return known
}

// forget drops the claim of a task.
func (l *localCache) forget(team, task string) { l.claims.Invalidate(owned{team, task}) }

// overtook reports whether a claim has a later state than another of the same task, or was heard after it.
func (c *Claim) overtook(other *Claim) bool {
	if here, there := c.Answer.Status.rank(), other.Answer.Status.rank(); here != there {
		return here > there
	}
	return c.HeardAfter(other)
}

// ofTeams lists the claims of teams.
func (l *localCache) ofTeams(teams map[string]bool) (list []*Claim) {
	for claim := range l.claims.Values() {
		if teams[claim.Team] {
			list = append(list, claim)
		}
	}
	return list
}
