package figures

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/figures/daily"
	"sluice/policy/limit"
)

const (
	mostModels = 1000 // of a day; the rest counts as other
	mostTags   = 1000 // of a day; the sum of one with more is not kept
)

// otherModel is the name that the ledger, too, gives to models that are too many.
const otherModel = "other"

// make adds up days of the ledger. versions are those of days that are over, read before the ledger; nil: the days may change.
func (s *sums) make(ctx context.Context, days []int, versions map[int]uint64, tags bool) (map[daily.Of]dayCopy, error) {
	copies := make(map[daily.Of]dayCopy, len(daily.All)*len(days))
	if len(days) == 0 {
		return copies, nil
	}
	read := s.now()
	var rows, tagged []limit.Row
	err := together(
		func() (err error) { rows, err = s.accounts.Rows(ctx, limit.Query{Days: days}); return err },
		func() (err error) {
			if tags {
				tagged, err = s.accounts.Rows(ctx, limit.Query{Days: days, Tags: true})
			}
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	ways := []daily.By{daily.ByTeam, daily.ByModel, daily.ByEndpoint}
	if tags {
		ways = daily.All
	}
	for of, a := range addUp(days, ways, rows, tagged) {
		copies[of] = dayCopy{sumOf(of.By, versions[of.Day], read, a), read, versions != nil}
	}
	return copies, nil
}

// addUp adds up rows of days in some ways. Those of tags are apart.
func addUp(days []int, ways []daily.By, rows, tagged []limit.Row) map[daily.Of]adder {
	added := map[daily.Of]adder{}
	for _, day := range days {
		for _, by := range ways {
			added[daily.Of{Day: day, By: by}] = adder{}
		}
	}
	for i := range rows {
		row := &rows[i]
		added[daily.Of{Day: row.Day, By: daily.ByTeam}].add(row.Team, useOf(row))
		added[daily.Of{Day: row.Day, By: daily.ByModel}].add(row.Model, useOf(row))
		added[daily.Of{Day: row.Day, By: daily.ByEndpoint}].add(string(row.Endpoint), useOf(row))
	}
	for i := range tagged {
		added[daily.Of{Day: tagged[i].Day, By: daily.ByTag}].add(tagged[i].Tag, useOf(&tagged[i]))
	}
	return added
}

// sumOf is a sum of what was added up.
func sumOf(by daily.By, version uint64, made time.Time, a adder) daily.Sum {
	rows, whole := a.rows(), true
	switch {
	case by == daily.ByModel && len(rows) > mostModels:
		rest := adder{}
		for i := range rows {
			if i >= mostModels-1 {
				rows[i].Name = otherModel
			}
			rest.add(rows[i].Name, rows[i].Use)
		}
		rows = rest.rows()
	case by == daily.ByTag && len(rows) > mostTags:
		rows, whole = nil, false
	}
	slices.SortFunc(rows, func(a, b MoneyRow) int { return strings.Compare(a.Name, b.Name) }) // days have much the same names
	list := make([]daily.Row, len(rows))
	for i := range rows {
		list[i] = daily.Row{Name: rows[i].Name, Used: rows[i].Used, Estimated: rows[i].Estimated}
	}
	return daily.NewSum(version, made, list, whole)
}
