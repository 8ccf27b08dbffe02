package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

const checkBatch = 1000 // holds that are looked at in one call

// CheckOwn looks which of the holds that this process placed others have ended, and puts back all where Redis lost them.
func (r *Store) CheckOwn(ctx context.Context, team string) error {
	o := r.teams.Get(team)
	known := o.witness()
	if known.epoch == 0 {
		return nil
	}
	ids := o.ids()
	if len(ids) == 0 {
		o.walked(nil)
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
	epoch := pipe.HGet(ctx, o.quota, "epoch") // behind them: what they tell is of this epoch
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if n, _ := epoch.Int64(); n != known.epoch {
		return r.Restore(ctx, team, Loss{})
	}
	var gone []string
	for i, id := range ids {
		text, _ := texts[i/checkBatch].Val()[i%checkBatch].(string)
		if !strings.HasPrefix(text, "held ") {
			gone = append(gone, id)
		}
	}
	o.walked(gone)
	return nil
}
