package cache

import "context"

const cancelsKey = queriesKey + ":cancel"

// Cancels keeps the account's rate of cancels in Redis, as [Redis] keeps that of queries: the service counts the two apart.
// It is safe for concurrent use. Create it with [NewCancels].
type Cancels struct {
	redis *Redis
	own   *Queries // this process's, while Redis is away
}

// NewCancels allows as many cancels a second as redis allows queries.
func NewCancels(redis *Redis) *Cancels { return &Cancels{redis, NewQueries(redis.Rate, redis.Now)} }

// Allow keeps all replicas together within the account's rate of cancels. Without Redis this process keeps to it alone.
func (c *Cancels) Allow(ctx context.Context, team string, spare bool) (bool, error) {
	return c.redis.allow(ctx, cancelsKey, c.own, asks{team, spare})
}
