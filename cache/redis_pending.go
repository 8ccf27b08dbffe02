package cache

import (
	"context"
	"fmt"
	"sync"
)

// mostPending is how many writes wait for Redis. Those beyond are dropped: other replicas never know of them.
const mostPending = 10_000

// pendingWrites keeps the writes that Redis did not take, and repeats them. Restored claims are not among them: the local
// cache still has those, in their newest state, and there may be many more of them.
type pendingWrites struct {
	mu      sync.Mutex
	list    []pendingWrite // oldest first
	dropped int
}

// pendingWrite is about one team's tasks. Its write is repeated until it fails no more.
type pendingWrite struct {
	team  string
	write func(ctx context.Context) error
}

func (p *pendingWrites) add(team string, write func(ctx context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) < mostPending {
		p.list = append(p.list, pendingWrite{team, write})
	} else {
		p.dropped++
	}
}

func (p *pendingWrites) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// flush repeats the writes, each team's in their order: a team whose key is broken, or whose shard is away, holds up no
// other. The error says how many writes were dropped since the last flush.
func (p *pendingWrites) flush(ctx context.Context) error {
	p.mu.Lock()
	list, dropped := p.list, p.dropped
	p.list, p.dropped = nil, 0
	p.mu.Unlock()
	var still []pendingWrite
	failed := map[string]bool{}
	for _, w := range list {
		if failed[w.team] || w.write(ctx) != nil {
			failed[w.team] = true
			still = append(still, w)
		}
	}
	p.mu.Lock()
	p.list = append(still, p.list...)
	p.mu.Unlock()
	if dropped > 0 {
		return fmt.Errorf("%d claims, answers or outcomes were dropped, because more than 10,000 wait for Redis; other replicas do not know them", dropped)
	}
	return nil
}
