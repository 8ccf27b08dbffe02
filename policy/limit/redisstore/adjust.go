package redisstore

import (
	"context"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Adjust corrects what a team used in the running day and month, and the ledger, by delta, which may be below 0. id
// makes it happen once, and why is kept with it for as long as the ledger.
func (r *Store) Adjust(ctx context.Context, id, team string, unit teams.Unit, delta int64, why string) (a limit.Adjustment, err error) {
	if err := r.List(ctx, team); err != nil { // so that reports have it
		return a, err
	}
	t := r.teams.Get(team)
	in, err := r.run(ctx, r.begin(adjustScript, struct {
		Team  string `json:"team"`
		ID    string `json:"id"`
		Unit  int    `json:"unit"`
		Delta int64  `json:"delta"`
		Why   string `json:"why"`
		Keep  int    `json:"keep"` // s
	}{team, id, limit.UnitIndex(unit) + 1, delta, why, limit.LedgerDays * 24 * 60 * 60}, t.key))
	if err != nil {
		return a, err
	}
	return limit.Adjustment{Done: in.next() == 1, DayBefore: in.next(), Day: in.next(), MonthBefore: in.next(), Month: in.next()}, in.end()
}
