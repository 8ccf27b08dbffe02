package redisstore

import (
	"context"
	"time"
)

// firstsKept is how long the names of an account are remembered after the last new one.
const firstsKept = 62 * 24 * time.Hour

// First reports true to one caller for a name of an account, among all replicas.
func First(ctx context.Context, r *Store, account, name string) (bool, error) {
	key := r.teams.Get(account).firsts()
	pipe := r.client.Pipeline()
	first := pipe.HSetNX(ctx, key, name, time.Now().Unix())
	pipe.Expire(ctx, key, firstsKept)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, err
	}
	return first.Val(), nil
}
