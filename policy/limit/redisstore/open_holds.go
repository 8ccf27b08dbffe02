package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// openBatch is how many open holds are read in one call.
const OpenBatch = 1000

// OpenHolds counts the open holds of a team, and its open tasks. They are read in pieces, so that a team with very many keeps Redis from
// nobody; what ends in between may hide another from this count.
func (r *Store) OpenHolds(ctx context.Context, team string) (o limit.OpenHolds, err error) {
	k := r.teams.Get(team)
	o.Tasks, err = r.client.HGet(ctx, k.quota, "tasks").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return o, err
	}
	for from := int64(0); ; from += OpenBatch {
		ids, err := r.client.ZRange(ctx, k.open, from, from+OpenBatch-1).Result()
		if err != nil {
			return o, err
		}
		for _, id := range ids {
			o.Note(limit.MadeAt(id))
		}
		if len(ids) < OpenBatch {
			return o, nil
		}
	}
}
