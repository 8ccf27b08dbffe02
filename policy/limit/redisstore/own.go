package redisstore

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// team is a team's keys, and what this process knows of its accounts.
type team struct {
	*teamKeys
	*own
}

// own holds this process's knowledge of a team in Redis, to restore it if Redis loses its memory: the team's state, what it used,
// the open holds that this process placed, and the ids of recently settled ones. An older copy of Redis's memory, or the replica
// that placed them, may consider those open.
type own struct {
	restoring *semaphore.Weighted // held while the accounts are restored

	mu       sync.Mutex
	seen     version                 // the accounts that the last reply was about
	at       time.Time               // of the last reply, by Redis's clock
	date     limit.Calendar          // of that
	held     [limit.QuotaCount]int64 // in the day and month of date
	tasks    int64
	used     map[int]limit.Amounts      // by day and month, past ones, too
	inner    map[scopeDay]limit.Amounts // what scopes inside the team used in the month, where quotas count them
	restored time.Time                  // when it was last restored
	holds    map[string]ownHold         // open ones, by id
	ended    [3]map[string]othersTask   // ids of settled holds, by how many sweeps ago
}

func newOwn() *own {
	return &own{
		restoring: semaphore.NewWeighted(1), used: map[int]limit.Amounts{}, inner: map[scopeDay]limit.Amounts{}, holds: map[string]ownHold{},
		ended: [3]map[string]othersTask{{}},
	}
}

func (o *own) version() version {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// record records the team's state.
func (o *own) record(s *versionedState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordLocked(s)
}

// recordRestored records the team's state in accounts that may be of another epoch.
func (o *own) recordRestored(s *versionedState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen.epoch = 0
	o.recordLocked(s)
}

// recordLocked records a state unless it is of another epoch. Replies may overtake each other: an older one counts only if its use is
// greater. The lock is held.
func (o *own) recordLocked(s *versionedState) {
	if o.seen.epoch != 0 && s.epoch != o.seen.epoch {
		return
	}
	newer := o.seen.epoch == 0 || s.seq >= o.seen.seq
	if newer {
		o.newDay(s.Date)
		o.seen, o.tasks, o.at = s.version, s.Tasks, s.At
	}
	for q := range s.Used {
		if s.hasUsed&(1<<q) == 0 {
			continue
		}
		if o.setUsed(s.Date.Period(q), q/2, s.Used[q], newer); newer {
			o.held[q] = s.Held[q]
		}
	}
	if s.counts != nil {
		o.recordCountsLocked(*s.counts, newer)
	}
}

// newDay forgets what belongs to past days. The lock is held.
func (o *own) newDay(date limit.Calendar) {
	if date.Day == o.date.Day {
		return
	}
	for q := range o.held {
		if date.Period(q) != o.date.Period(q) {
			o.held[q] = 0
		}
	}
	o.date = date
	maps.DeleteFunc(o.inner, func(of scopeDay, _ limit.Amounts) bool { return of.day/100 != date.Month })
	oldest := limit.CalendarOf(date.Start.AddDate(0, -2, 0))
	for period := range o.used {
		if period < oldest.Month || period > 999999 && period < oldest.Day {
			delete(o.used, period)
		}
	}
}

// setUsed records what a day or month used of a unit. An older number counts only if it is greater. The lock is held.
func (o *own) setUsed(period, unit int, n int64, newer bool) {
	if amounts := o.used[period]; newer || n > amounts[unit] {
		amounts[unit] = n
		o.used[period] = amounts
	}
}

// recordCounts records the use and the holds in the reply to a settlement.
func (o *own) recordCounts(of version, counts []count) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of.epoch != o.seen.epoch {
		return
	}
	o.recordCountsLocked(counts, of.seq >= o.seen.seq)
	o.seen.seq = max(o.seen.seq, of.seq)
}

// recordCountsLocked is recordCounts. The lock is held.
func (o *own) recordCountsLocked(counts []count, newer bool) {
	for _, c := range counts {
		if !c.held {
			o.setUsed(c.period, c.unit, c.n, newer)
			continue
		}
		for q := 2 * c.unit; q < 2*c.unit+2; q++ {
			if c.period == o.date.Period(q) {
				o.held[q] = c.n
			}
		}
	}
}

// counts lists what was used.
func (o *own) counts() (list []count) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for period, amounts := range o.used {
		for unit, n := range amounts {
			if n > 0 {
				list = append(list, count{period: period, unit: unit, n: n})
			}
		}
	}
	return list
}

// scopeDay is a scope inside the team on a day.
type scopeDay struct {
	kind limit.ScopeKind
	day  int
	name string
}

// scopeUse is what it used on that day.
type scopeUse struct {
	scopeDay
	used limit.Amounts
}

// scopeCount is what a scope used of one unit on a day.
type scopeCount struct {
	scopeDay
	unit int
	n    int64
}

// scopesOf reads what the scopes of charges used, by the reply to their settlement.
func scopesOf(charges []*limit.Charge, in *reply) (list []scopeCount) {
	for _, c := range charges {
		for k := limit.ScopeTeam + 1; k < limit.ScopeKind(limit.TeamScopes); k++ {
			if part := c.Held.Inner(k); part.Counted() {
				of := scopeDay{k, c.Held.Day, part.Name()}
				if in.next() == 1 {
					of.name = limit.Other
				}
				for unit := range unit.Names {
					list = append(list, scopeCount{of, unit, in.next()})
				}
			}
		}
	}
	return list
}

// recordScopes records what scopes inside the team used.
func (o *own) recordScopes(of version, list []scopeCount) {
	if len(list) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if of.epoch != o.seen.epoch {
		return
	}
	for _, c := range list {
		was := o.inner[c.scopeDay]
		if of.seq == o.seen.seq || c.n > was[c.unit] {
			was[c.unit] = c.n
		}
		if c.day/100 == o.date.Month && was != (limit.Amounts{}) {
			o.inner[c.scopeDay] = was
		}
	}
}

// scopes lists what scopes inside the team used in the month.
func (o *own) scopes() (list []scopeUse) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for of, used := range o.inner {
		for unit, n := range used {
			used[unit] = max(n, 0)
		}
		list = append(list, scopeUse{of, used})
	}
	return list
}

// known is what this process knows of the teams.
type known struct{ teams teams.PerTeam[team] }

// LastKnown fills in a team's state on the date of s, by Redis's last answer.
func (k *known) LastKnown(team string, s *limit.State) {
	o := k.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	for q := range s.Used {
		period := s.Date.Period(q)
		s.Used[q] = o.used[period][q/2]
		if period == o.date.Period(q) {
			s.Held[q] = o.held[q]
		}
	}
	s.Tasks = o.tasks
}

// Tasks are the open tasks of a team by Redis's last answer.
func (k *known) Tasks(team string) int64 {
	o := k.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks
}

// UnlessRestoring calls do unless the team is being restored or the epoch has changed: a restore must not see do's changes. It reports
// false if the team is being restored. With placed do records holds that Redis has now.
func (k *known) UnlessRestoring(team string, epoch int64, do func(placed func(h *limit.Held, due time.Time))) bool {
	o := k.teams.Get(team)
	if !o.restoring.TryAcquire(1) {
		return false
	}
	defer o.restoring.Release(1)
	if o.version().epoch == epoch {
		do(o.placed)
	}
	return true
}
