package limit

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/teams"
)

// renewal is a call of allowance.lua: what it tells and asks for, and what came of it.
type renewal struct {
	team    *teams.Team
	terms   terms
	replica string
	now     time.Time // by this process's clock
	alive   int64
	call    int64 // its number, among those of the replica that tell of the team
	lease   time.Duration
	idle    bool // it asks for nothing more
	rows    []renewalRow
	running []placing
	spent   Amounts // from the rates here
	rated   Amounts // and what it takes from Redis's for that; where a reply is lost, twice

	number int64     // to say again
	epoch  int64     // of the accounts that it was made in
	at     time.Time // by Redis's clock
	more   bool      // requests that run are left for another one
	err    error
}

// placing is a request that a renewal tells of, and when its lease ended then.
type placing struct {
	*spent
	due time.Time
}

// renewalRow is one allowance in a renewal.
type renewalRow struct {
	of         *allowance
	keep, want stock // what is to stay of it, and by how much it may grow
	grown      stock
}

// renew makes renewals, in one round trip, and notes in each what came of it. The error is that of the round trip.
func (r *Redis) renew(ctx context.Context, list []*renewal) error {
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
		n.err = r.renewed(n, reply, err)
	}
	return failed
}

func (r *Redis) renewalCall(n *renewal) []any {
	k := r.keysOf(n.team.ID)
	known := r.own.get(n.team.ID).witness()
	n.number = newNumber()
	call := append(append(allowanceScript.call(6+len(n.running), 35+3*len(n.running)+3*len(n.rows)), k.shared...), k.aside)
	for _, s := range n.running {
		call = append(call, k.hold+s.held.ID)
	}
	call = append(call, r.clock(), n.number, known.epoch, known.seq, n.replica, n.call, k.ledger, n.lease.Microseconds(), n.alive)
	for _, limit := range n.terms.quotas {
		call = append(call, limitText(limit))
	}
	call = append(call, limitText(n.terms.tasks), len(n.rows))
	call = append(append(call, k.wired(n.team).rates...), written(n.rated))
	for i := range n.rows {
		row := &n.rows[i]
		call = append(call, row.of.day, row.keep.written(), row.want.written())
	}
	for _, s := range n.running {
		call = append(call, s.held.ID, max(s.due.Sub(n.now), 0).Microseconds(), s.held.text(0))
	}
	return call
}

func limitText(limit int64) any {
	if limit == none {
		return ""
	}
	return limit
}

// written is a stock as the scripts take it.
func (s stock) written() string {
	a := Amounts(s[:stockTasks])
	return written(a) + " " + strconv.FormatInt(s[stockTasks], 10)
}

// errOvertaken means that a later call of this process came before this one.
var errOvertaken = errors.New("a later renewal came first")

// renewed reads the reply to a renewal.
func (r *Redis) renewed(n *renewal, reply []int64, err error) error {
	if err == nil && len(reply) == 4 && reply[0] == n.number && reply[1] == 3 {
		return errOvertaken
	}
	s, grown, err := standing(n.number, reply, err, len(stock{})*len(n.rows))
	switch {
	case err != nil:
		return err
	case s.outcome != admitted:
		return errNotDone
	}
	for i := range n.rows {
		copy(n.rows[i].grown[:], grown[i*len(stock{}):])
	}
	n.epoch, n.at = s.epoch, s.at
	r.own.get(n.team.ID).know(&s)
	return nil
}
