package redisstore

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
)

// own holds this process's knowledge of a team in Redis, to restore it if Redis loses its memory: the team's state, what it used, the open
// holds that this process placed, and the ids of recently settled ones. An older copy of Redis's memory, or the replica that placed
// them, may take those for open.
type own struct {
	restoring *semaphore.Weighted // held while the accounts are restored

	mu       sync.Mutex
	seen     version                 // the accounts that the last reply was about
	date     limit.Calendar          // of the last reply, by Redis's clock
	held     [limit.QuotaCount]int64 // in the day and month of date
	tasks    int64
	used     map[int]limit.Amounts      // by day and month, past ones, too
	tagUse   map[tagOfDay]limit.Amounts // what values of the tag used in the month, where quotas count them
	restored time.Time                  // when it was last restored
	holds    map[string]ownHold         // open ones, by id
	ended    [3]map[string]othersTask   // ids of settled holds, by how many sweeps ago
}

// othersTask reports whether a settled hold was a task that another replica placed.
type othersTask = bool

// endedMost bounds the ids that are kept of holds settled since the last sweep: some hundred kilobytes.
const endedMost = 10_000

// ownHold is an open hold, and when its lease ends by Redis's clock.
type ownHold struct {
	*limit.Held
	due time.Time
}

func (o *own) version() version {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// record records the team's state.
func (o *own) record(s *standing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordLocked(s)
}

// recordRestored records the team's state in accounts that may be of another epoch.
func (o *own) recordRestored(s *standing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen.epoch = 0
	o.recordLocked(s)
}

// recordLocked records a state unless it is of another epoch. Replies may overtake each other: an older one counts only if its use is
// greater. The lock is held.
func (o *own) recordLocked(s *standing) {
	if o.seen.epoch != 0 && s.epoch != o.seen.epoch {
		return
	}
	newer := o.seen.epoch == 0 || s.seq >= o.seen.seq
	if newer {
		o.newDay(s.Date)
		o.seen, o.tasks = s.version, s.Tasks
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
	for at := range o.tagUse {
		if at.day/100 != date.Month {
			delete(o.tagUse, at)
		}
	}
	oldest := limit.CalendarOf(date.Start.AddDate(0, -2, 0))
	for period := range o.used {
		if period < oldest.Month || period > 999999 && period < oldest.Day {
			delete(o.used, period)
		}
	}
}

// setUsed records what a day or month used of a unit. An older number counts only if it is greater. The lock is held.
func (o *own) setUsed(period, unit int, n int64, newer bool) {
	if o.used == nil {
		o.used = map[int]limit.Amounts{}
	}
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

// placed records a hold that was placed in Redis.
func (o *own) placed(h *limit.Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.place(h, due)
}

func (o *own) place(h *limit.Held, due time.Time) {
	if o.holds == nil {
		o.holds = map[string]ownHold{}
	}
	o.holds[h.ID] = ownHold{h, due}
}

// admitted records the reply to an admission; h is nil if it was refused.
func (o *own) admitted(s *standing, h *limit.Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordLocked(s)
	if h != nil {
		o.place(h, due)
	}
}

// extended records that a hold has a longer lease.
func (o *own) extended(id string, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, mine := o.holds[id]; mine {
		o.holds[id] = ownHold{h.Held, due}
	}
}

// settled records that a hold was settled in Redis.
func (o *own) settled(h *limit.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, mine := o.holds[h.ID]
	delete(o.holds, h.ID)
	if !mine && !h.Task || mine && len(o.ended[0]) >= endedMost {
		return
	}
	if o.ended[0] == nil {
		o.ended[0] = map[string]othersTask{}
	}
	o.ended[0][h.ID] = !mine
}

// all lists the holds to restore. One without a due time was settled: only its id is known, and as Task whether it was a task of
// another replica.
func (o *own) all() (list []ownHold) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list = slices.Collect(maps.Values(o.holds))
	for _, ids := range o.ended {
		for id, task := range ids {
			list = append(list, ownHold{Held: &limit.Held{ID: id, Task: task}})
		}
	}
	return list
}

// ids lists the open holds.
func (o *own) ids() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.holds))
}

// swept drops holds that other replicas have settled, and ids of settled ones that all replicas know by now: each sweeps once a
// minute.
func (o *own) swept(ended []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ended {
		delete(o.holds, id)
	}
	o.ended = [3]map[string]othersTask{nil, o.ended[0], o.ended[1]}
}
