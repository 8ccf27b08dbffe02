package redisstore

import (
	"context"
	"errors"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Renewal is a call of allowance.lua: what it reports and asks for, and its result.
type Renewal struct {
	Team    *teams.Team
	Alive   int64 // replicas that are alive
	Call    int64 // its number, counted by replica and team
	Rows    []RenewalRow
	Running []Placing
	Rated   limit.Amounts // what to take from the rates; twice if a reply is lost

	Epoch int64     // of the accounts, set by Renew
	At    time.Time // by Redis's clock, set by Renew
	Err   error
}

// Placing is a running request that a renewal reports, and its lease from now on.
type Placing struct {
	Held  *limit.Held
	Lease time.Duration
}

// RenewalRow is one allowance in a renewal.
type RenewalRow struct {
	Day        int         // yyyymmdd
	Keep, Want limit.Stock // what remains set aside, and by how much it may grow
	Grown      limit.Stock
}

// Renew makes renewals in one round trip, and records the result in each. The error is that of the round trip.
func (r *Store) Renew(ctx context.Context, list []*Renewal) (failed error) {
	calls := make([]*call, len(list))
	for i, n := range list {
		calls[i] = renewalCall(r, n)
	}
	r.send(ctx, calls...)
	for i, n := range list {
		if n.Err = takeRenewal(r, n, calls[i]); n.Err != nil && !OfAccounts(n.Err) && !errors.Is(n.Err, errOvertaken) {
			failed = n.Err
		}
	}
	return failed
}

func renewalCall(r *Store, n *Renewal) *call {
	t := r.teams.Get(n.Team.ID)
	w, known := t.wired(n.Team), t.version()
	keys := append(append(make([]any, 0, 6+len(n.Running)), t.shared...), t.aside)
	for _, s := range n.Running {
		keys = append(keys, t.hold+s.Held.ID)
	}
	c := r.begin(allowanceScript, keys, 33+3*len(n.Running)+3*len(n.Rows))
	c.add(known.epoch, known.seq, r.Peer.ID, n.Call, t.ledger, r.Peer.Lease.Microseconds(), n.Alive)
	for _, most := range w.terms.Quotas {
		c.add(limitText(most))
	}
	c.add(limitText(w.terms.Tasks), len(n.Rows)).add(w.rates...).add(written(n.Rated))
	for i := range n.Rows {
		row := &n.Rows[i]
		c.add(row.Day, writtenStock(row.Keep), writtenStock(row.Want))
	}
	for _, s := range n.Running {
		c.add(s.Held.ID, max(s.Lease, 0).Microseconds(), heldText(s.Held, 0))
	}
	return c
}

// takeRenewal reads the reply to a renewal.
func takeRenewal(r *Store, n *Renewal, c *call) error {
	s, grown, err := r.standing(c, len(limit.Stock{})*len(n.Rows))
	if err != nil {
		return err
	}
	for i := range n.Rows {
		copy(n.Rows[i].Grown[:], grown[i*len(limit.Stock{}):])
	}
	n.Epoch, n.At = s.epoch, s.At
	r.teams.Get(n.Team.ID).record(&s)
	return nil
}
