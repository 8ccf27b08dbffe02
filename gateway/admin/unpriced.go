package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// mostUnpriced bounds the models that Unpriced names: clients may send any name.
const mostUnpriced = 20

// Unpriced warns of models that were used in the last 30 days and have no price today of what they used, if the file mentions money.
// Requests without a model, and those that the service refused, need no price.
func Unpriced(ctx context.Context, ledger interface {
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}, file *teams.File, now time.Time,
) (warnings []string) {
	if !namesMoney(file) {
		return nil
	}
	today := limit.CalendarOf(now)
	days, _ := limit.Days(today.Start.AddDate(0, 0, -29).Format(limit.DayForm), today.Start.Format(limit.DayForm))
	rows, err := ledger.Rows(ctx, limit.Query{Days: days})
	if err != nil {
		return []string{"the ledger cannot be read, so models without a price are not known"}
	}
	models := map[string]bool{}
	for i := range rows {
		row := rows[i]
		row.Used[limit.Requests], row.Used[limit.Spend] = 0, 0
		if slices.Max(row.Used[:]) == 0 || row.Model == "" || row.Model == limit.AdjustedModel {
			continue
		}
		switch p := file.Prices.For(row.Model, today.Day); {
		case p == nil:
			models[Printable(row.Model)] = true
		case p.Missing(&row.Used) != "":
			models[Printable(row.Model)+" (no "+p.Missing(&row.Used)+")"] = true
		}
	}
	if len(models) == 0 {
		return nil
	}
	names, more := slices.Sorted(maps.Keys(models)), ""
	if n := len(names) - mostUnpriced; n > 0 {
		names, more = names[:mostUnpriced], fmt.Sprintf(" and %d more", n)
	}
	return []string{"used in the last 30 days, and without a price: " + strings.Join(names, ", ") + more}
}

// namesMoney reports whether a file has prices, a currency or a quota of spend. Without any of them no model needs a price.
func namesMoney(file *teams.File) bool {
	return len(file.Prices) > 0 || file.Currency != "" || file.House.Spends() || slices.ContainsFunc(file.List, func(t *teams.Team) bool {
		return t.Spends() || slices.ContainsFunc(t.CountedKeys(), func(k *teams.Key) bool { return k.Spends() })
	})
}
