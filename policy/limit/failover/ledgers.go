package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// Adjust makes a correction as [redisstore.Store.Adjust] does. It needs Redis.
func (s *Failover) Adjust(ctx context.Context, c limit.Correction) (done limit.Adjustment, err error) {
	if err = s.ensureRestored(ctx, s.patience(), c.Team, s.teams.Get(c.Team)); err == nil {
		done, err = redisstore.Adjust(s.Store, c, func(do func(context.Context) error) error { return s.call(ctx, do) })
	}
	return done, err
}

// Open returns how many holds of a team are open: its requests in flight and its tasks that are not settled. It needs Redis.
func (s *Failover) Open(ctx context.Context, team string) (open int, err error) {
	err = s.ask(ctx, team, func(ctx context.Context) error {
		o, err := s.Store.OpenHolds(ctx, team)
		o.Add(s.teams.Get(team).openHolds())
		open = o.Count
		return err
	})
	return open, err
}

// ask calls Redis about a team, once Redis has what this process knows of it.
func (a *accounts) ask(ctx context.Context, team string, do func(context.Context) error) error {
	if err := a.ensureRestored(ctx, a.patience(), team, a.teams.Get(team)); err != nil {
		return err
	}
	return a.call(ctx, do)
}

// ledgers reads what Redis keeps of past days. Without Redis it fails.
type ledgers struct{ store *redisstore.Store }

// Rows returns rows of the ledger, as [redisstore.Store.Rows] does.
func (l ledgers) Rows(ctx context.Context, q limit.Query) ([]limit.Row, error) {
	return l.store.Rows(ctx, q)
}

// Days returns the ledger of all teams, or of their tags or keys, on each of a few days.
func (l ledgers) Days(ctx context.Context, by limit.ScopeKind, days []int) (map[int]limit.DayRows, error) {
	return redisstore.Days(ctx, l.store, by, days)
}

// Versions returns a number for each of the days. It changes with each change of the day's ledger, of any team, that is made more
// than a day after the day's end.
func (l ledgers) Versions(ctx context.Context, days []int) ([]uint64, error) {
	return l.store.Versions(ctx, days)
}

// LookInside reports the use of the limits of a team's parts at a moment, as [limit.Memory.LookInside] does. It takes
// nothing.
func (l ledgers) LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error) {
	return redisstore.LookInside(ctx, l.store, team, k, at)
}

// LookAll reports the use of the rates of each of some teams, or of the limits of their parts, as [redisstore.LookAll]
// does. It takes nothing.
func (l ledgers) LookAll(ctx context.Context, list []*teams.Team, inside bool, at time.Time) [][]limit.Standing {
	return redisstore.LookAll(ctx, l.store, list, inside, at)
}
