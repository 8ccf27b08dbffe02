package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
)

// Extend gives an open hold a new lease, counted from now by Redis's clock. One that ends sooner changes nothing.
func (r *Store) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	t := r.teams.Get(h.Team)
	in, err := r.run(ctx, r.begin(extendScript, []any{t.open, t.hold + h.ID}, 2).add(h.ID, lease.Microseconds()), 2)
	if err == nil && in[0] == 1 {
		t.extended(h.ID, time.UnixMicro(in[1]))
	}
	return err
}

// Sweep charges up to most holds of a team whose lease has ended, and says how many there were.
func (r *Store) Sweep(ctx context.Context, team string, most int) (int, error) {
	var from, to int64
	if r.Peer.Gap != nil {
		from, to = r.Peer.Gap()
	}
	t := r.teams.Get(team)
	c := r.begin(sweepScript, []any{t.quota, t.open, t.aside}, 6).add(most, t.hold, t.ledger, r.Peer.ID, from, to)
	r.send(ctx, c)
	s, n, err := r.standing(c, 1)
	if err != nil {
		return 0, err
	}
	t.record(&s)
	return int(n[0]), nil
}
