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

// Sweep charges up to most holds of a team whose lease has ended, and returns how many there were.
func (r *Store) Sweep(ctx context.Context, team string, most int) (due int, err error) {
	args := struct {
		knownArgs
		Most    int    `json:"most"`
		Replica string `json:"replica"`
		From    int64  `json:"from"`
		To      int64  `json:"to"`
	}{Most: most, Replica: r.Peer.ID}
	if r.Peer.Gap != nil {
		args.From, args.To = r.Peer.Gap()
	}
	t := r.teams.Get(team)
	err = r.restoring(ctx, team, func() error {
		args.knownArgs = t.version().args()
		c := r.begin(sweepScript, args, t.key)
		r.send(ctx, c)
		s, err := r.readState(c, func(_ *versionedState, in *reply) { due = int(in.next()) })
		if err == nil {
			t.record(&s)
		}
		return err
	})
	return due, err
}
