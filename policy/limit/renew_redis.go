package limit

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

// renewal is a call of allowance.lua: what it tells and asks for, and what came of it.
type renewal struct {
	team    *policy.Team
	terms   terms
	replica string
	alive   int64
	since   int64 // as in beats
	lease   time.Duration
	rows    []renewalRow
	report  report
	running []*spent

	number int64
	at     time.Time // by Redis's clock
	short  bool
	err    error
}

// renewalRow is one allowance in a renewal.
type renewalRow struct {
	of               *allowance
	keep, want       stock // what is to stay of it, and by how much it may grow
	grown            stock
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
	known := r.knownOf(n.team.ID)
	n.number = newNumber()
	call := append(allowanceScript.call(3+len(n.running), 24+6*len(n.running)+4*len(n.rows)+5*len(n.report.sums)), k.quota, k.open, k.aside)
	for _, s := range n.running {
		call = append(call, k.hold+s.held.ID)
	}
	call = append(call, r.clock(), n.number, known.epoch, known.seq, n.replica, n.report.number, k.ledger, n.lease.Microseconds(), n.alive, sinceText(n.since))
	for _, limit := range n.terms.quotas {
		call = append(call, limitText(limit))
	}
	call = append(call, limitText(n.terms.tasks), len(n.rows), len(n.report.sums))
	for i := range n.rows {
		row := &n.rows[i]
		call = append(call, row.of.day, row.of.day/100, row.keep.written(), row.want.written())
	}
	for of, sum := range n.report.sums {
		call = append(call, of.day, of.day/100, ledgerName(of.model, of.endpoint), written(sum.used), written(sum.estimated))
	}
	now := r.now()
	for _, s := range n.running {
		lease := max(s.due.Sub(now), time.Millisecond)
		call = append(call, s.held.ID, lease.Microseconds(), s.held.text(0))
	}
	return call
}

func sinceText(since int64) any {
	if since == 0 {
		return ""
	}
	return since
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

// renewed reads the reply to a renewal.
func (r *Redis) renewed(n *renewal, reply []int64, err error) error {
	if forgot(n.number, reply, err) {
		return errForgot
	}
	in, err := said(n.number, reply, err, 5+2*quotaCount+len(stock{})*len(n.rows))
	if err != nil {
		return err
	}
	s := &state{outcome: admitted, epoch: in[1], seq: in[2], at: time.UnixMicro(in[3]).UTC(), tasks: in[4], fault: limitNone}
	s.date = calendarOf(s.at)
	in = in[5:]
	copy(s.used[:], in)
	copy(s.held[:], in[quotaCount:])
	in = in[2*quotaCount:]
	for i := range n.rows {
		copy(n.rows[i].grown[:], in[i*len(stock{}):])
	}
	n.at, n.short = s.at, s.short(&n.terms)
	r.know(n.team.ID, s)
	return nil
}
