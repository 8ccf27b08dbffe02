package failover

import (
	"context"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// ledgers reads what Redis keeps of past days. Without Redis it fails.
type ledgers struct{ store *redisstore.Store }

// Ledger returns the rows of one team, or of all if team is empty, for the days, each yyyymmdd.
func (l ledgers) Ledger(ctx context.Context, team string, days []int) ([]limit.Row, error) {
	return l.store.Ledger(ctx, team, days)
}

// LedgerOf returns the rows of some teams, or of all if teams is nil, for the days, each yyyymmdd.
func (l ledgers) LedgerOf(ctx context.Context, teams []string, days []int) ([]limit.Row, error) {
	return l.store.LedgerOf(ctx, teams, days)
}

// TagsOf returns the rows of the ledger of tags, of some teams, or of all if teams is nil, for the days, each yyyymmdd.
func (l ledgers) TagsOf(ctx context.Context, teams []string, days []int) ([]limit.Row, error) {
	return l.store.TagsOf(ctx, teams, days)
}

// Tags returns the rows of the ledger of tags, of one team, or of all if team is empty, for the days, each yyyymmdd.
func (l ledgers) Tags(ctx context.Context, team string, days []int) ([]limit.Row, error) {
	return l.store.Tags(ctx, team, days)
}

// Versions returns for each of the days a number that is another one after each change of its ledger, of any team, that came more
// than a day after its end.
func (l ledgers) Versions(ctx context.Context, days []int) ([]uint64, error) {
	return l.store.Versions(ctx, days)
}

// TeamLedger returns the rows of one team for the days, each yyyymmdd, if they are at most so many; else [limit.ErrRows].
func (l ledgers) TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error) {
	return l.store.TeamLedger(ctx, team, days, most)
}
