package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

const (
	// lostAfter is the longest time between two renewals by a live replica, plus some seconds for a slow one.
	lostAfter = renewLeast + renewEvery + 5*time.Second
	// lostEvery is the least time between two calls for what is set aside of a team for lost replicas.
	lostEvery = time.Second
)

// tellAside adds to a refusal what is set aside for lost replicas, if that may be the cause. It costs a refusal a second call,
// once a second per team; if that fails the refusal stays as it is. at is Redis's time.
func (a *accounts) tellAside(ctx context.Context, b *books, v *limit.Verdict, team string, at time.Time) {
	held := v.Reason == limit.ReasonQuota && v.Fault.Scope == limit.ScopeTeam && v.Wait < v.Fault.Reset
	if v.Held != nil || !held && v.Reason != limit.ReasonTasks {
		return
	}
	day, unit := limit.CalendarOf(at).Day, limit.StockTasks
	if held {
		unit = limit.UnitIndex(v.Fault.Unit)
	}
	var list []limit.Aside
	for _, row := range a.lostAsides(ctx, b, team, at) {
		ofPeriod := v.Reason == limit.ReasonTasks || row.Day == day || v.Fault.Period == teams.PeriodMonth && row.Day/100 == day/100
		if back := row.Back.Add(sweepEvery).Sub(at); ofPeriod && row.Of[unit] > 0 && back > 0 {
			list = append(list, limit.Aside{Amount: row.Of[unit], Back: back})
		}
	}
	if len(list) > 0 {
		v.TellAside(list)
	}
}

// lostAsides returns what is set aside of a team for lost replicas, as it was a moment ago.
func (a *accounts) lostAsides(ctx context.Context, b *books, team string, at time.Time) []redisstore.LostAside {
	b.mu.Lock()
	known, fresh := b.lost, at.Sub(b.lostAt) < lostEvery && !at.Before(b.lostAt)
	if !fresh {
		b.lostAt = at // others need not ask meanwhile
	}
	b.mu.Unlock()
	if fresh {
		return known
	}
	call := timedFrom(ctx, a.Timeout)
	defer call.end()
	list, err := a.Store.LostAsides(call, team, at.Add(-lostAfter))
	if err != nil {
		return known
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = list
	return list
}
