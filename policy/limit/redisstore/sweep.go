package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// Extend gives an open hold a new lease, counted from now by Redis's clock. One that ends sooner changes nothing.
func (r *Store) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	t := r.teams.Get(h.Team)
	in, err := r.run(ctx, r.begin(extendScript, holdArgs{ID: h.ID, Lease: lease.Microseconds()}, t.key))
	if err != nil {
		return err
	}
	open, due := in.next() == 1, time.UnixMicro(in.next())
	if err := in.end(); err != nil || !open {
		return err
	}
	t.extended(h.ID, due)
	return nil
}

// Sweep charges up to most holds of a team whose lease has ended, and says how many there were.
func (r *Store) Sweep(ctx context.Context, team string, most int) (int, error) {
	args := struct {
		Most    int    `json:"most"`
		Replica string `json:"replica"`
		From    int64  `json:"from"`
		To      int64  `json:"to"`
	}{Most: most, Replica: r.Peer.ID}
	if r.Peer.Gap != nil {
		args.From, args.To = r.Peer.Gap()
	}
	t := r.teams.Get(team)
	c := r.begin(sweepScript, args, t.key)
	r.send(ctx, c)
	due := 0
	s, err := r.standing(c, func(_ *standing, in *reply) { due = int(in.next()) })
	if err == nil {
		t.record(&s)
	}
	return due, err
}

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
