package cache

import (
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

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

// PollCounts counts the polls and queries of a task in this process since it last wrote them to Redis. All copies of a claim
// share one. A nil PollCounts counts nothing.
type PollCounts struct{ served, sent, encrypted atomic.Int64 }

// Serve counts an answered poll.
func (t *PollCounts) Serve() {
	if t != nil {
		t.served.Add(1)
	}
}

// Send counts a query that was sent to the service.
func (t *PollCounts) Send() {
	if t != nil {
		t.sent.Add(1)
	}
}

// SendEncrypted counts a query with an encrypted answer, which only one client can read.
func (t *PollCounts) SendEncrypted() {
	t.Send()
	if t != nil {
		t.encrypted.Add(1)
	}
}

// Encrypted is how many such queries were sent since an answer was last heard.
func (t *PollCounts) Encrypted() int64 {
	if t == nil {
		return 0
	}
	return t.encrypted.Load()
}

// take returns the counts and resets them; give adds them again if they could not be written.
func (t *PollCounts) take() (served, sent int64) {
	if t == nil {
		return 0, 0
	}
	t.encrypted.Store(0)
	return t.served.Swap(0), t.sent.Swap(0)
}

func (t *PollCounts) give(served, sent int64) {
	if t != nil {
		t.served.Add(served)
		t.sent.Add(sent)
	}
}

// Polls returns how many polls of the task were answered, and how many queries were sent to the service: those of all
// processes as far as written, and those of this one.
func (c *Claim) Polls() (served, sent int64) {
	served, sent = c.Served, c.Sent
	if c.Counts != nil {
		served, sent = served+c.Counts.served.Load(), sent+c.Counts.sent.Load()
	}
	return served, sent
}
