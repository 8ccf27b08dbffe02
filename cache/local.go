package cache

import (
	"cmp"

	"github.com/maypok86/otter/v2"
)

const (
	// localBytes bounds the claims that this process keeps in addition to Redis.
	localBytes = 64 << 20
	// claimBytes is what a claim takes beside its answer, as measured.
	claimBytes = 1400
)

// owned names a claim. The team is part of it, so that another team's look-up cannot find it.
type owned struct{ team, task string }

// localCache keeps the claims that this process used last.
type localCache struct {
	claims *otter.Cache[owned, *Claim]
}

func newLocalCache() *localCache {
	return &localCache{otter.Must(&otter.Options[owned, *Claim]{
		MaximumWeight: localBytes,
		Weigher:       func(_ owned, c *Claim) uint32 { return uint32(min(len(c.Body)+claimBytes, 1<<30)) },
	})}
}

// get returns the claim of a task, or nil. It MUST NOT be changed.
func (l *localCache) get(team, task string) *Claim {
	claim, _ := l.claims.GetIfPresent(owned{team, task})
	return claim
}

// latest is the newest state of a claim that is known here.
func (l *localCache) latest(claim *Claim) *Claim {
	if later := l.get(claim.Team, claim.Task); later != nil {
		return later
	}
	return claim
}

// merge keeps a claim unless a later state is known, and returns the latest. It MUST NOT be changed. Of claims with different holds it
// keeps the one from Redis. What a stream counted stays, whichever answer is the later.
func (l *localCache) merge(claim *Claim) *Claim {
	kept := *claim
	known := &kept
	_, _ = l.claims.Compute(owned{claim.Team, claim.Task}, func(was *Claim, found bool) (*Claim, otter.ComputeOp) {
		stays := found && was.overtook(&kept)
		switch counted := kept.Answer.Streamed; {
		case !found:
		case was.Hold.ID != kept.Hold.ID:
			stays = kept.written == ""
		case stays && was.Answer.Streamed == "" && counted != "" && !was.Final():
			kept, stays = *was, false
			kept.Answer.Streamed = counted
		case !kept.Final(): // an end has what it was settled with
			kept.Answer.Streamed = cmp.Or(counted, was.Answer.Streamed)
		}
		if stays {
			known = was
			return was, otter.CancelOp
		}
		if found {
			kept.counts = was.counts
		}
		return &kept, otter.WriteOp
	})
	return known
}

// overtook reports whether a claim has a later state than another of the same task, or was received after it.
func (c *Claim) overtook(other *Claim) bool {
	if here, there := c.Answer.Status.rank(), other.Answer.Status.rank(); here != there {
		return here > there
	}
	return c.HeardAfter(other)
}
