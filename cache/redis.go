package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// Redis keeps claims, answers, the account's rates of queries and cancels, and the outcomes of requests that run once in
// Redis, where every replica sees them. Claims that are final or fresh are kept in this process, too. A write that Redis
// does not take is kept and repeated later. It is safe for concurrent use. Create it with [NewRedis].
type Redis struct {
	*redisClaims
	*redisTurns
	*redisSchedule
	*redisReader
	*redisOutcomes
	*RedisQueries               // of task queries
	Cancels       *RedisQueries // as many a second; the service counts the two apart

	pending *pendingWrites
}

// NewRedis connects to nothing yet.
func NewRedis(config RedisConfig) *Redis {
	s := &store{config}
	pending := new(pendingWrites)
	losses := newLosses(config.Now)
	teams := &openTeams{teams: map[string]bool{}}
	turns := &redisTurns{s}
	reader := &redisReader{s}
	return &Redis{
		redisClaims:   &redisClaims{store: s, local: newLocalCache(), pending: pending, losses: losses, teams: teams, turns: turns},
		redisTurns:    turns,
		redisSchedule: &redisSchedule{store: s, reader: reader, losses: losses, teams: teams},
		redisReader:   reader,
		redisOutcomes: &redisOutcomes{s, pending},
		RedisQueries:  newRedisQueries(s, queriesKey),
		Cancels:       newRedisQueries(s, cancelsKey),
		pending:       pending,
	}
}

// Unwritten counts the writes that Redis did not take yet.
func (r *Redis) Unwritten() int { return r.pending.len() }

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

// redisTurns lets one caller of all replicas query the service about a task.
type redisTurns struct{ *store }

// What stands at a task's turn.
const (
	turnBusy    = "asking"
	turnResting = "resting"
)

// Take lets one caller of all replicas query the service about a task, until the answer is heard or the task is released.
func (t *redisTurns) Take(ctx context.Context, team, task string) (Turn, error) {
	mine, err := t.setFirst(ctx, turnKey(team, task), turnBusy, turnTime)
	if err != nil || mine {
		return Mine, err
	}
	if state, _, err := t.get(ctx, turnKey(team, task)); err == nil && state == turnResting {
		return Resting, nil
	}
	return Busy, nil
}

// Release lets others query once that long has passed. If it fails, the turn ends by itself.
func (t *redisTurns) Release(ctx context.Context, team, task string, after time.Duration) {
	if after > 0 {
		_ = t.set(ctx, turnKey(team, task), turnResting, after)
	} else {
		_ = t.del(ctx, turnKey(team, task))
	}
}

// rest lets no caller query about a task that Redis lost. If it fails, the next look tries again.
func (t *redisTurns) rest(ctx context.Context, team, task string) {
	_, _ = t.setFirst(ctx, turnKey(team, task), turnResting, restoreDue)
}

// RedisQueries keeps the account's rate of task queries, or of cancels, in Redis. It is safe for concurrent use.
type RedisQueries struct {
	*store
	key string
	own *Queries // this process's, while Redis is away
}

func newRedisQueries(s *store, key string) *RedisQueries {
	return &RedisQueries{s, key, NewQueries(s.Rate, s.Now)}
}

// Allow keeps all replicas together within the account's rate. Without Redis this process keeps to it alone.
func (q *RedisQueries) Allow(ctx context.Context, team string, spare bool) (bool, error) {
	n, err := q.run(ctx, queriesScript, []string{q.key}, q.Rate, queryWindow.Microseconds(), team, flag(spare), rand.Text()).Int()
	if err != nil {
		return q.own.Allow(ctx, team, spare)
	}
	return n == 1, nil
}
