package cache

import (
	"context"
	"errors"
	"fmt"
)

// mostUnwritten is how many claims and outcomes wait for Redis; past it they are this process's alone.
const mostUnwritten = 10_000

// unwritten is something about a team's tasks that Redis was not told yet.
type unwritten struct {
	team string
	do   func(ctx context.Context) error
}

// later keeps what could not be done until Redis is back.
func (r *Redis) later(team string, do func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late) < mostUnwritten {
		r.late = append(r.late, unwritten{team, do})
	} else {
		r.dropped++
	}
}

// Tend tells Redis what it was not told, and puts back what it lost and is known here. One goroutine calls it every second.
// Its error is news: what Redis lost, and what there was no room to keep.
func (r *Redis) Tend(ctx context.Context) error {
	news := r.look(ctx)
	err := r.tellLate(ctx)
	r.putBackSome(ctx)
	return errors.Join(news, err)
}

// tellLate tells Redis what it was not told, each team's in its order: a team whose key is broken, or whose shard is away,
// holds up no other.
func (r *Redis) tellLate(ctx context.Context) error {
	r.mu.Lock()
	late, dropped := r.late, r.dropped
	r.late, r.dropped = nil, 0
	r.mu.Unlock()
	var still []unwritten
	failed := map[string]bool{}
	for _, u := range late {
		if failed[u.team] || u.do(ctx) != nil {
			failed[u.team] = true
			still = append(still, u)
		}
	}
	r.mu.Lock()
	r.late = append(still, r.late...)
	r.mu.Unlock()
	if dropped > 0 {
		return fmt.Errorf("%d claims, answers or outcomes were too many to keep for Redis; other replicas do not know them", dropped)
	}
	return nil
}

// Unwritten counts what Redis was not told yet.
func (r *Redis) Unwritten() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.late)
}
