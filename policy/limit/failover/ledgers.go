package failover

import (
	"context"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// ledgers reads what Redis keeps of past days. Without Redis it fails.
type ledgers struct{ store *redisstore.Store }

// Rows returns rows of the ledger, as [redisstore.Store.Rows] does.
func (l ledgers) Rows(ctx context.Context, q limit.Query) ([]limit.Row, error) {
	return l.store.Rows(ctx, q)
}

// Versions returns for each of the days a number that is another one after each change of its ledger, of any team, that came more
// than a day after its end.
func (l ledgers) Versions(ctx context.Context, days []int) ([]uint64, error) {
	return l.store.Versions(ctx, days)
}
