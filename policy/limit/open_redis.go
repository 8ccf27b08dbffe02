package limit

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// openBatch is how many open holds are read in one call.
const openBatch = 1000

// openHolds counts the open holds of a team, and its open tasks. They are read in pieces, so that a team with very many keeps Redis from
// nobody; what ends in between may hide another from this count.
func (r *Redis) openHolds(ctx context.Context, team string) (o openHolds, err error) {
	k := r.keysOf(team)
	o.tasks, err = r.client.HGet(ctx, k.quota, "tasks").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return o, err
	}
	for from := int64(0); ; from += openBatch {
		ids, err := r.client.ZRange(ctx, k.open, from, from+openBatch-1).Result()
		if err != nil {
			return o, err
		}
		for _, id := range ids {
			o.note(madeAt(id))
		}
		if len(ids) < openBatch {
			return o, nil
		}
	}
}
