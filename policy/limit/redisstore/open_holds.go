package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// openBatch is how many open holds one call reads.
const openBatch = 1000

// OpenHolds counts the open holds of a team, and its open tasks. It reads them in pieces, so that no call blocks Redis for long. If
// one ends meanwhile, another may be missed.
func (r *Store) OpenHolds(ctx context.Context, team string) (o limit.OpenHolds, err error) {
	k := r.teams.Get(team)
	o.Tasks, err = r.client.HGet(ctx, k.quota, "tasks").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return o, err
	}
	for from := int64(0); ; from += openBatch {
		ids, err := r.client.ZRange(ctx, k.open, from, from+openBatch-1).Result()
		if err != nil {
			return o, err
		}
		for _, id := range ids {
			o.Note(limit.MadeAt(id))
		}
		if len(ids) < openBatch {
			return o, nil
		}
	}
}
