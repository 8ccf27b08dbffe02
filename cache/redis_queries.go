package cache

import (
	"context"
	"crypto/rand"
)

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
