package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
)

// Redis keeps claims, answers, the account's rates of queries and cancels, and the outcomes of requests that run once in Redis,
// where every replica sees them. Claims that are final or fresh are kept in this process, too. A failed write is kept and retried
// later. It is safe for concurrent use. Create it with [NewRedis].
type Redis struct {
	*redisClaims
	*redisAgenda
	*redisOutcomes
	*RedisQueries               // of task queries
	Cancels       *RedisQueries // with the same rate; the service counts them separately
}

// NewRedis does not connect yet.
func NewRedis(config RedisConfig) *Redis {
	s := &store{config}
	pending := &pendingWrites{fence: s.fenced}
	agenda := &redisAgenda{store: s, losses: newLosses(config.Now), teams: map[string]bool{}}
	return &Redis{
		redisClaims:   &redisClaims{store: s, local: newLocalCache(), pending: pending, agenda: agenda, losses: agenda.losses},
		redisAgenda:   agenda,
		redisOutcomes: &redisOutcomes{s, pending},
		RedisQueries:  &RedisQueries{s, queriesKey, NewQueries(s.Rate, s.Now)},
		Cancels:       &RedisQueries{s, cancelsKey, NewQueries(s.Rate, s.Now)},
	}
}

// Unwritten counts the failed writes that will be retried.
func (r *Redis) Unwritten() int {
	p := r.redisClaims.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// mostPending bounds the writes that wait for Redis. Further ones are dropped: other replicas never learn of them.
const mostPending = 10_000

// pendingWrites keeps failed writes and retries them. Restored claims are not among them: the local cache still has those, in
// their newest state, and there may be many more of them.
type pendingWrites struct {
	fence func(work func()) bool

	mu      sync.Mutex
	list    []pendingWrite // oldest first
	dropped int
}

// pendingWrite is a write about one team's tasks. It is retried until it succeeds.
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

// flushTogether is how many teams' writes are retried concurrently.
const flushTogether = 8

// flush retries the writes until ctx ends, each team's in order: a team whose key is broken, or whose shard is away, delays no other. The
// error reports how many writes were dropped since the last flush.
func (p *pendingWrites) flush(ctx context.Context) error {
	p.mu.Lock()
	list, dropped := p.list, p.dropped
	p.list, p.dropped = nil, 0
	p.mu.Unlock()
	done, of := make([]bool, len(list)), map[string][]int{}
	for i, w := range list {
		of[w.team] = append(of[w.team], i)
	}
	var flushing sync.WaitGroup
	room := make(chan struct{}, flushTogether)
	for _, writes := range of {
		room <- struct{}{}
		flushing.Go(func() {
			defer func() { <-room }()
			p.fence(func() { // what panics is retried
				for _, i := range writes {
					if ctx.Err() != nil || list[i].write(ctx) != nil {
						return
					}
					done[i] = true
				}
			})
		})
	}
	flushing.Wait()
	var still []pendingWrite
	for i, w := range list {
		if !done[i] {
			still = append(still, w)
		}
	}
	p.mu.Lock()
	p.list = append(still, p.list...)
	p.mu.Unlock()
	if dropped > 0 {
		return fmt.Errorf(
			"%d claims, answers or outcomes were dropped, because more than 10,000 wait for Redis; other replicas do not know them", dropped)
	}
	return nil
}

// RedisQueries keeps the accounts' rates of task queries, or of cancels, in Redis. It is safe for concurrent use.
type RedisQueries struct {
	*store
	key string
	own *Queries // this process's, while Redis is away
}

// Allow keeps all replicas together within the account's rate. Without Redis this process uses the whole rate.
func (q *RedisQueries) Allow(ctx context.Context, w Wish) (bool, error) {
	key := q.key
	if w.Account != "" {
		key += ofAccount + w.Account
	}
	n, err := q.run(ctx, queriesScript, []string{key},
		"rate", cmp.Or(w.Rate, q.Rate), "window", queryWindow.Microseconds(), "team", w.Team, "spare", flag(w.Spare), "unique", rand.Text()).Int()
	if err != nil {
		return q.own.Allow(ctx, w)
	}
	return n == 1, nil
}
