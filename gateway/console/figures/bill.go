package figures

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures/daily"
	"sluice/policy/limit"
)

// Bill calls take with the rows of the ledger behind a query's days and team, team after team, in the order of reports; q.By does not
// count. It ends with the first error of take. It reads Redis once for each team, so that a year of a thousand teams is never in
// memory at once.
func (f *Figures) Bill(ctx context.Context, p access.Person, q MoneyQuery, take func(rows []limit.Row) error) error {
	days, ok := limit.Days(q.From, q.To)
	if !ok {
		return fmt.Errorf("%w: from %q to %q", ErrQuery, q.From, q.To)
	}
	ids, err := f.billed(ctx, p, q.Team, days)
	if err != nil {
		return err
	}
	for _, id := range ids {
		rows, err := f.Accounts.Rows(ctx, limit.Query{Teams: []string{id}, Days: days})
		if err == nil {
			err = take(rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// billed lists the teams that a person sees and that may have used something on the days, in the order of reports. A team that left
// the file still has its use.
func (f *Figures) billed(ctx context.Context, p access.Person, team string, days []int) ([]string, error) {
	ids, err := f.whose(p, team)
	if err != nil || ids != nil {
		return slices.Sorted(slices.Values(ids)), err
	}
	sums, err := f.sums.of(ctx, days, daily.ByTeam)
	names := map[string]bool{}
	for _, day := range sums {
		for row := range day.Rows() {
			names[row.Name] = true
		}
	}
	delete(names, "") // would be all teams
	return slices.Sorted(maps.Keys(names)), err
}
