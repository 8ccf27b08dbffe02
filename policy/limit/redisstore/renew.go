package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
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
	Rated   []Rated // what to take from the rates; twice if a reply is lost

	Epoch int64     // of the accounts, set by Renew
	At    time.Time // by Redis's clock, set by Renew
	Err   error
}

// Rated is what was taken from the rates of a team, or of a part of it, without Redis.
type Rated struct {
	Kind    limit.ScopeKind
	Name    string // of the part
	Amounts limit.Amounts
}

// ratedArgs are rates of a team with what is taken from each. A rate that a reload has removed is left out.
func ratedArgs(t *team, of *teams.Team, rated []Rated) []rateArgs {
	list := []rateArgs{}
	for _, r := range rated {
		w := t.wired(of, r.Name)
		for i := range w.rates {
			if a := w.rates[i].rateArgs; w.rates[i].kind == r.Kind && r.Amounts[a.Unit-1] > 0 {
				a.N = r.Amounts[a.Unit-1]
				list = append(list, a)
			}
		}
	}
	return list
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
	args := struct {
		knownArgs
		Replica string          `json:"replica"`
		Call    int64           `json:"call"`
		Lease   int64           `json:"lease"`
		Alive   int64           `json:"alive"`
		Terms   json.RawMessage `json:"terms"`
		Rated   []rateArgs      `json:"rated"`
		Rows    []asideArgs     `json:"rows"`
		Holds   []holdArgs      `json:"holds"`
	}{
		t.version().args(), r.Peer.ID, n.Call, r.Peer.Lease.Microseconds(), n.Alive, t.wired(n.Team, "").args, ratedArgs(t, n.Team, n.Rated),
		make([]asideArgs, 0, len(n.Rows)), make([]holdArgs, 0, len(n.Running)),
	}
	for _, row := range n.Rows {
		args.Rows = append(args.Rows, asideArgs{strconv.Itoa(row.Day), row.Keep, row.Want})
	}
	for _, s := range n.Running {
		args.Holds = append(args.Holds, holdArgs{ID: s.Held.ID, Lease: max(s.Lease, 0).Microseconds(), Text: heldText(s.Held, 0)})
	}
	return r.begin(allowanceScript, args, t.key)
}

// takeRenewal reads the reply to a renewal.
func takeRenewal(r *Store, n *Renewal, c *call) error {
	grown := make([]limit.Stock, len(n.Rows))
	s, err := r.readState(c, func(_ *versionedState, in *reply) {
		for i := range grown {
			in.into(grown[i][:])
		}
	})
	if err != nil {
		return err
	}
	for i := range n.Rows {
		n.Rows[i].Grown = grown[i]
	}
	n.Epoch, n.At = s.epoch, s.At
	r.teams.Get(n.Team.ID).record(&s)
	return nil
}
