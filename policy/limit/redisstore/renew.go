package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Renewal is a call of allowance.lua: what it tells and asks for, and what came of it.
type Renewal struct {
	Team    *teams.Team
	Alive   int64 // replicas, this one counted
	Call    int64 // its number, among those of the replica that tell of the team
	Rows    []RenewalRow
	Running []Placing
	Rated   limit.Amounts // what it takes from the rates; where a reply is lost, twice

	number int64     // to say again
	Epoch  int64     // of the accounts that it was made in
	At     time.Time // by Redis's clock
	Err    error
}

// Placing is a request that a renewal tells of, and how long its lease is from now on.
type Placing struct {
	Held  *limit.Held
	Lease time.Duration
}

// RenewalRow is one allowance in a renewal.
type RenewalRow struct {
	Day        int         // yyyymmdd
	Keep, Want limit.Stock // what is to stay of it, and by how much it may grow
	Grown      limit.Stock
}

// Renew makes renewals, in one round trip, and notes in each what came of it. The error is that of the round trip.
func (r *Store) Renew(ctx context.Context, list []*Renewal) error {
	pipe := r.client.Pipeline()
	calls := make([][]any, len(list))
	replies := make([]*redis.IntSliceCmd, len(list))
	for i, n := range list {
		calls[i] = r.renewalCall(n)
		replies[i] = redis.NewIntSliceCmd(ctx, calls[i]...)
		_ = pipe.Process(ctx, replies[i]) // it is only queued
	}
	_, failed := pipe.Exec(ctx)
	for i, n := range list {
		reply, err := numbers(replies[i])
		switch {
		case unknown(err): // a pipeline does not send the script itself
			reply, err = allowanceScript.send(ctx, r.client, calls[i])
			failed = err
		case err == nil && len(reply) == 0 && failed != nil: // not sent at all
			err = failed
		}
		n.Err = r.renewed(n, reply, err)
	}
	return failed
}

func (r *Store) renewalCall(n *Renewal) []any {
	k := r.keysOf(n.Team.ID)
	w := k.wired(n.Team)
	known := r.own.Get(n.Team.ID).witness()
	n.number = newNumber()
	call := append(append(allowanceScript.call(6+len(n.Running), 35+3*len(n.Running)+3*len(n.Rows)), k.shared...), k.aside)
	for _, s := range n.Running {
		call = append(call, k.hold+s.Held.ID)
	}
	call = append(call, r.Clock(), n.number, known.epoch, known.seq, r.Peer.ID, n.Call, k.ledger, r.Peer.Lease.Microseconds(), n.Alive)
	for _, most := range w.terms.Quotas {
		call = append(call, limitText(most))
	}
	call = append(call, limitText(w.terms.Tasks), len(n.Rows))
	call = append(append(call, w.rates...), written(n.Rated))
	for i := range n.Rows {
		row := &n.Rows[i]
		call = append(call, row.Day, writtenStock(row.Keep), writtenStock(row.Want))
	}
	for _, s := range n.Running {
		call = append(call, s.Held.ID, max(s.Lease, 0).Microseconds(), heldText(s.Held, 0))
	}
	return call
}

func limitText(n int64) any {
	if n == limit.None {
		return ""
	}
	return n
}

// writtenStock is a stock as the scripts take it.
func writtenStock(s limit.Stock) string {
	return written(limit.Amounts(s[:limit.StockTasks])) + " " + strconv.FormatInt(s[limit.StockTasks], 10)
}

// errOvertaken means that a later call of this process came before this one.
var errOvertaken = errors.New("a later renewal came first")

// renewed reads the reply to a renewal.
func (r *Store) renewed(n *Renewal, reply []int64, err error) error {
	if err == nil && len(reply) == 4 && reply[0] == n.number && reply[1] == 3 {
		return errOvertaken
	}
	s, grown, err := readStanding(n.number, reply, err, len(limit.Stock{})*len(n.Rows))
	switch {
	case err != nil:
		return err
	case s.Outcome != limit.Admitted:
		return ErrNotDone
	}
	for i := range n.Rows {
		copy(n.Rows[i].Grown[:], grown[i*len(limit.Stock{}):])
	}
	n.Epoch, n.At = s.epoch, s.At
	r.own.Get(n.Team.ID).know(&s)
	return nil
}
