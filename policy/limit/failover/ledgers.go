package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

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
