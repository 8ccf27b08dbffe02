package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
)

// Extend gives an open hold a new lease, counted from now by Redis's clock. A lease that ends sooner changes nothing. From now on the
// hold is charged under h's account if its lease ends.
func (r *Store) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	t := r.teams.Get(h.Team)
	in, err := r.run(ctx, r.begin(extendScript, holdArgs{ID: h.ID, Lease: lease.Microseconds(), Account: limit.AccountMark(h.Account)}, t.key))
	if err != nil {
		return err
	}
	open, due := in.next() == 1, time.UnixMicro(in.next())
	if err := in.end(); err != nil || !open {
		return err
	}
	t.extended(h, due)
	return nil
}

// Sweep charges up to most holds of a team whose lease has ended, and returns how many there were.
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
