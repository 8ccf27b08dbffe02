package figures

import (
	"context"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// KeyFigures are a key's current figures.
type KeyFigures struct {
	Team   *teams.Team      // as in force, with its raises
	Report limit.Report     // of the team, whose limits apply in addition to the key's
	Own    []limit.Standing // the key's limits; nil: it has no rates and no quotas
	Days   []Row            // every day of the month so far, oldest first
}

// Key returns a key's standing for its limits, and its use in this month. A removed key and the subject of a token may have use, too.
func (f *Figures) Key(ctx context.Context, p access.Person, id, key string) (k KeyFigures, err error) {
	team, err := f.find(p, id)
	if err != nil {
		return k, err
	}
	at := f.Deps.Now()
	k.Team = team
	var reading Group
	reading.Go(func() (err error) { k.Report, err = f.Balances.Look(ctx, team); return err })
	reading.Go(func() (err error) { k.Days, err = keyDays(ctx, f.Balances, id, key, at); return err })
	if team.Key(key) != nil {
		reading.Go(func() (err error) { k.Own, err = f.Balances.LookInside(ctx, team, limit.ScopeKey, at); return err })
	}
	if err := reading.Wait(); err != nil {
		return k, err
	}
	k.Own = slices.DeleteFunc(k.Own, func(s limit.Standing) bool { return s.Of != key })
	return k, nil
}

// keyDays returns a team's use with a key on each day of the month of at, until at.
func keyDays(ctx context.Context, ledger Ledger, team, key string, at time.Time) (list []Row, err error) {
	days := lastDays(at, at.UTC().Day())
	rows, err := ledger.Rows(ctx, limit.Query{Teams: []string{team}, Days: days, By: limit.ScopeKey})
	used := adder{}
	for i := range rows {
		if use := useOf(&rows[i]); rows[i].Key == key {
			used.add(limit.DayText(rows[i].Day), &use)
		}
	}
	for _, day := range days {
		list = append(list, Row{limit.DayText(day), used.use(limit.DayText(day))})
	}
	return list, err
}
