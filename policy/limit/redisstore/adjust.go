package redisstore

import (
	"context"
	"strconv"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Adjust makes a correction once for its ID, as [limit.Memory.Adjust] does, and keeps it for as long as the ledger. If it fails, all of it
// or a part may have been made: another call with the same ID makes the rest.
func (r *Store) Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error) {
	return Adjust(r, c, func(do func(context.Context) error) error { return do(ctx) })
}

// Adjust is [Store.Adjust] with a function that makes each round trip, so that each can have a deadline of its own: over a slow network
// one round trip needs all of it.
func Adjust(r *Store, c limit.Correction, trip func(do func(context.Context) error) error) (done limit.Adjustment, err error) {
	within := func(do func(context.Context) error) {
		if err == nil {
			err = trip(do)
		}
	}
	var change int64
	within(r.Agree)
	within(func(ctx context.Context) error { return r.List(ctx, c.Team) }) // so that reports have it
	within(func(ctx context.Context) (err error) {
		done, change, err = adjust(ctx, r, c.Team, &c, nil)
		return err
	})
	if !done.Done {
		return done, err
	}
	for _, other := range c.Outside() {
		known := false
		within(func(ctx context.Context) (err error) {
			known, err = r.Knows(ctx, other)
			return err
		})
		if known {
			within(func(ctx context.Context) error {
				_, _, err := adjust(ctx, r, other, &c, &change)
				return err
			})
		}
	}
	return done, err
}

// adjust makes a correction of one account: of the team's, or after that of one outside of the teams, whose day changes by as much as
// the team's did. It returns that change, even if the correction was made before.
func adjust(ctx context.Context, r *Store, account string, c *limit.Correction, team *int64) (a limit.Adjustment, change int64, err error) {
	day := ""
	if c.Day != 0 {
		day = strconv.Itoa(c.Day)
	}
	in, err := r.run(ctx, r.begin(adjustScript, struct {
		Team    string `json:"team"`
		ID      string `json:"id"`
		Unit    int    `json:"unit"`
		Delta   int64  `json:"delta"`
		Day     string `json:"day"`
		Account string `json:"account"`
		Why     string `json:"why"`
		Keep    int    `json:"keep"`             // s
		Change  *int64 `json:"change,omitempty"` // of an account outside of the teams
	}{
		c.Team, c.ID, unit.Index(c.Unit) + 1, c.Delta, day, limit.AccountMark(c.Account), c.Why, limit.LedgerDays * 24 * 60 * 60, team,
	}, r.teams.Get(account).key))
	if err != nil {
		return a, 0, err
	}
	a = limit.Adjustment{Done: in.next() == 1, DayBefore: in.next(), Day: in.next(), MonthBefore: in.next(), Month: in.next()}
	return a, in.next(), in.end()
}
