package limit

import (
	"context"
	"crypto/rand"
)

const (
	epochKey = schema + "epoch" // names the memory of this Redis; gone with it
	namesKey = schema + "teams" // every team that ever asked for something
)

// begin adds teams to the list of those that were ever seen, and returns the name of Redis's memory, which it gives one
// if it has none.
func (r *Redis) begin(ctx context.Context, teams []string) (epoch string, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	if len(teams) > 0 {
		pipe.SAdd(ctx, namesKey, teams)
	}
	_, err = pipe.Exec(ctx)
	return got.Val(), err
}

// teams lists every team that was ever seen.
func (r *Redis) teams(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, namesKey).Result()
}
