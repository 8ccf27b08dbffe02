package redisstore

import (
	"context"
	"sync"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// look reads a team's state, and how long its rates, or those of its keys, take to be full. It takes nothing.
type look struct {
	team  *team
	rates []wiredRate // of the team
	inner []rateArgs  // of its keys
	keys  []string    // the key of each of inner
	call  *call

	versionedState
	full map[string][limit.RateCount]time.Duration // by key
}

func newLook(r *Store, of *teams.Team, inside bool) *look {
	l := &look{team: r.teams.Get(of.ID)}
	if !inside {
		l.rates = l.team.wired(of, "").rates
		return l
	}
	for _, k := range of.CountedKeys() {
		for _, rate := range l.team.wired(of, k.ID).ratesOf(true) {
			l.inner, l.keys = append(l.inner, rate), append(l.keys, k.ID)
		}
	}
	return l
}

// begin begins the call.
func (l *look) begin(r *Store) *call {
	rates := make([]rateArgs, 0, len(l.rates)+len(l.inner))
	for i := range l.rates {
		rates = append(rates, l.rates[i].rateArgs)
	}
	l.call = r.begin(lookScript, struct {
		knownArgs
		Rates []rateArgs `json:"rates"`
	}{l.team.version().args(), append(rates, l.inner...)}, l.team.key)
	return l.call
}

// read reads the reply.
func (l *look) read(r *Store) (err error) {
	l.full = map[string][limit.RateCount]time.Duration{}
	l.versionedState, err = r.readState(l.call, func(now *versionedState, in *reply) {
		for i := range l.rates {
			now.Rates[l.rates[i].Unit-1] = limit.FillOf(l.rates[i].rate, in.next())
		}
		for i, key := range l.keys {
			waits := l.full[key]
			waits[l.inner[i].Unit-1] = micros(in.next())
			l.full[key] = waits
		}
	})
	return err
}

// send makes the call for one team, and restores its accounts if they are lost.
func (l *look) send(ctx context.Context, r *Store) error {
	err := r.restoring(ctx, l.team.id, func() error {
		r.send(ctx, l.begin(r))
		return l.read(r)
	})
	if err == nil {
		l.team.record(&l.versionedState)
	}
	return err
}

// Look returns a team's state. It takes nothing.
func (r *Store) Look(ctx context.Context, team *teams.Team) (limit.State, error) {
	l := newLook(r, team, false)
	err := l.send(ctx, r)
	return l.State, err
}

// LookInside reports how the parts of a team stand to the limits of each, as [limit.Memory.LookInside] does. It takes nothing.
func (l Ledgers) LookInside(ctx context.Context, of *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error) {
	days, err := innerDays(ctx, l.of, []*teams.Team{of}, k, at)
	if err != nil {
		return nil, err
	}
	if k == limit.ScopeTag {
		return limit.TagStandings(of, at, days[of.ID]), nil
	}
	keys := newLook(l.of, of, true)
	if len(keys.keys) > 0 {
		err = keys.send(ctx, l.of)
	}
	return limit.KeyStandings(of, at, days[of.ID], keys.fullOf), err
}

func (l *look) fullOf(key string) [limit.RateCount]time.Duration { return l.full[key] }

// LookAll reports what [limit.Memory.LookAll] does, without the quotas of teams that have no rates, and without what cannot be read. It
// takes nothing. It makes one round trip for all rates, and at the same time, inside teams, two for the use of tags and keys.
func (l Ledgers) LookAll(ctx context.Context, list []*teams.Team, inside bool, at time.Time) [][]limit.Standing {
	r, looks, calls, used := l.of, make([]*look, len(list)), make([]*call, 0, len(list)), [limit.InnerScopes]map[string][]limit.InnerDay{}
	var parts [limit.InnerScopes][]*teams.Team
	for i, of := range list {
		if looks[i] = newLook(r, of, inside); len(looks[i].rates)+len(looks[i].inner) > 0 {
			calls = append(calls, looks[i].begin(r))
		}
		if inside && len(of.TagQuotas) > 0 {
			parts[limit.ScopeTag-1] = append(parts[limit.ScopeTag-1], of)
		}
		if inside && of.CountedKeys() != nil {
			parts[limit.ScopeKey-1] = append(parts[limit.ScopeKey-1], of)
		}
	}
	var reading sync.WaitGroup
	if len(calls) > 0 {
		reading.Go(func() { r.send(ctx, calls...) })
	}
	for k, some := range parts {
		if len(some) > 0 {
			reading.Go(func() { used[k], _ = innerDays(ctx, r, some, limit.ScopeKind(k+1), at) })
		}
	}
	reading.Wait()
	all := make([][]limit.Standing, len(list))
	for i, of := range list {
		l := looks[i]
		if l.call != nil && l.read(r) == nil && !inside {
			t := limit.TermsOf(of)
			all[i] = l.Report(&t).Limits
		}
		if days, read := used[limit.ScopeTag-1][of.ID]; read {
			all[i] = append(all[i], limit.TagStandings(of, at, days)...)
		}
		if used[limit.ScopeKey-1] != nil {
			all[i] = append(all[i], limit.KeyStandings(of, at, used[limit.ScopeKey-1][of.ID], l.fullOf)...)
		}
	}
	return all
}

// innerDays reads, by team, what its parts of a kind used and hold on the days that their limits count.
func innerDays(ctx context.Context, r *Store, list []*teams.Team, k limit.ScopeKind, at time.Time) (map[string][]limit.InnerDay, error) {
	all := newReading(r, k, tripStep)
	all.held = map[dayRow]limit.Amounts{}
	var scans []*dayScan
	for _, of := range list {
		scans = append(scans, scansOf([]*team{r.teams.Get(of.ID)}, limit.InnerDays(of, k, at))...)
	}
	scans, err := all.begin(ctx, scans)
	if err != nil {
		return nil, err
	}
	rows, err := all.readAll(ctx, scans)
	days := map[string][]limit.InnerDay{}
	for i := range rows {
		row := &rows[i]
		held := all.held[dayRow{row.Team, row.Day, row.Model + "|"}]
		days[row.Team] = append(days[row.Team], limit.InnerDay{Day: row.Day, Name: row.Model, Used: row.Used, Held: held})
	}
	return days, err
}
