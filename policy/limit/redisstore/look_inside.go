package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// LookInside reports how the parts of a team stand to the limits of each, as [limit.Memory.LookInside] does. It takes nothing.
func LookInside(ctx context.Context, r *Store, of *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error) {
	all := newReading(r, k, tripStep)
	all.held = map[dayRow]limit.Amounts{}
	rows, err := all.read(ctx, []*team{r.teams.Get(of.ID)}, limit.InnerDays(of, k, at))
	if err != nil {
		return nil, err
	}
	days := make([]limit.InnerDay, len(rows))
	for i := range rows {
		row := &rows[i]
		days[i] = limit.InnerDay{Day: row.Day, Name: row.Model, Used: row.Used, Held: all.held[dayRow{row.Day, row.Model + "|"}]}
	}
	if k == limit.ScopeTag {
		return limit.TagStandings(of, at, days), nil
	}
	full, err := lookKeys(ctx, r, of)
	return limit.KeyStandings(of, at, days, func(key string) [limit.RateCount]time.Duration { return full[key] }), err
}

// lookKeys returns how long the rates of a team's keys take to be full.
func lookKeys(ctx context.Context, r *Store, of *teams.Team) (map[string][limit.RateCount]time.Duration, error) {
	t, full := r.teams.Get(of.ID), map[string][limit.RateCount]time.Duration{}
	var rates []rateArgs
	var keys []string // of each rate
	for _, k := range of.CountedKeys() {
		for _, rate := range t.wired(of, k.ID).ratesOf(true) {
			rates, keys = append(rates, rate), append(keys, k.ID)
		}
	}
	if rates == nil {
		return full, nil
	}
	err := lookRates(ctx, r, of.ID, rates, func(_ *standing, in *reply) {
		for i, key := range keys {
			waits := full[key]
			waits[rates[i].Unit-1] = micros(in.next())
			full[key] = waits
		}
	})
	return full, err
}
