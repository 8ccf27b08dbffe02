package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

const checkBatch = 1000 // holds that one call reads

// CheckOwn finds out which of this process's open holds other replicas have settled. If the accounts are lost it restores what is
// known.
func (r *Store) CheckOwn(ctx context.Context, team string) error {
	o := r.teams.Get(team)
	known := o.version()
	if known.epoch == 0 {
		return nil
	}
	ids := o.ids()
	if len(ids) == 0 {
		o.swept(nil)
		return nil
	}
	pipe := r.client.Pipeline()
	var texts []*redis.SliceCmd
	for chunk := range slices.Chunk(ids, checkBatch) {
		keys := make([]string, len(chunk))
		for i, id := range chunk {
			keys[i] = o.hold + id
		}
		texts = append(texts, pipe.MGet(ctx, keys...))
	}
	epoch := pipe.HGet(ctx, o.quota, "epoch") // read last: the texts are of this epoch
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if n, _ := epoch.Int64(); n != known.epoch {
		return r.Restore(ctx, team, Loss{})
	}
	var ended []string
	for i, id := range ids {
		text, _ := texts[i/checkBatch].Val()[i%checkBatch].(string)
		if !strings.HasPrefix(text, "held ") {
			ended = append(ended, id)
		}
	}
	o.swept(ended)
	return nil
}
