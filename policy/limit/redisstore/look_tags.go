package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// LookTags reports how each value of the team's tag stands to its quotas, as [limit.TagStandings] does. It takes nothing.
func LookTags(ctx context.Context, r *Store, of *teams.Team, at time.Time) ([]limit.Standing, error) {
	t := limit.TermsOf(of)
	all := newReading(r, (*teamKeys).tags, tripStep)
	all.held = map[dayRow]limit.Amounts{}
	rows, err := all.read(ctx, []*team{r.teams.Get(of.ID)}, limit.TagDays(&t, at))
	days := make([]limit.TagDay, len(rows))
	for i := range rows {
		row := &rows[i]
		days[i] = limit.TagDay{Day: row.Day, Value: row.Model, Used: row.Used, Held: all.held[dayRow{row.Day, row.Model + "|"}]}
	}
	return limit.TagStandings(&t, at, days), err
}
