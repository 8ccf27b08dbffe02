package redisstore

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
)

// own is what this process knows of a team in Redis, for the day Redis loses its memory: how the team stands, what it used,
// the holds that this process placed and that nobody has ended, as far as it knows, and those that it settled a short while
// ago, which an older copy of Redis's memory may still have, and of other replicas' tasks their makers.
type own struct {
	restoring *semaphore.Weighted // one at a time

	mu       sync.Mutex
	seen     witness                 // of what was last told
	date     limit.Calendar          // of that, by Redis's clock
	held     [limit.QuotaCount]int64 // in the day and month of date
	tasks    int64
	used     map[int]limit.Amounts // by day and month, those that are over, too
	restored time.Time             // when all of it was last put back
	holds    map[string]ownHold    // that are open
	ended    [3]map[string]bool    // the ids of what was settled, by how many walks ago; true for others' tasks
}

// endedMost bounds the ids that are kept of what was settled since the last walk: some hundred kilobytes.
const endedMost = 10_000

// ownHold is an open hold, and when its lease ends by Redis's clock.
type ownHold struct {
	*limit.Held
	due time.Time
}

func (o *own) witness() witness {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// know notes how the team stands.
func (o *own) know(s *standing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.learn(s)
}

// adopt notes how the team stands in accounts that may be others than those that were known.
func (o *own) adopt(s *standing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen.epoch = 0
	o.learn(s)
}

// learn is know. The lock is held. Other accounts than those that are known are no news. Replies may overtake each other: an
// older one tells that no less was used.
func (o *own) learn(s *standing) {
	if o.seen.epoch != 0 && s.epoch != o.seen.epoch {
		return
	}
	newer := o.seen.epoch == 0 || s.seq >= o.seen.seq
	if newer {
		o.turn(s.Date)
		o.seen, o.tasks = s.witness, s.Tasks
	}
	for q := range s.Used {
		if s.tells&(1<<q) == 0 {
			continue
		}
		if o.note(s.Date.Period(q), q/2, s.Used[q], newer); newer {
			o.held[q] = s.Held[q]
		}
	}
	if s.counts != nil {
		o.learnCounts(*s.counts, newer)
	}
}

// turn notes a new day. The lock is held.
func (o *own) turn(date limit.Calendar) {
	if date.Day == o.date.Day {
		return
	}
	for q := range o.held {
		if date.Period(q) != o.date.Period(q) {
			o.held[q] = 0
		}
	}
	o.date = date
	oldest := limit.CalendarOf(date.Start.AddDate(0, -2, 0))
	for period := range o.used {
		if period < oldest.Month || period > 999999 && period < oldest.Day {
			delete(o.used, period)
		}
	}
}

// note notes what a day or month used of a unit: what is older than what was known counts where it is more. The lock is held.
func (o *own) note(period, unit int, n int64, newer bool) {
	if o.used == nil {
		o.used = map[int]limit.Amounts{}
	}
	if amounts := o.used[period]; newer || n > amounts[unit] {
		amounts[unit] = n
		o.used[period] = amounts
	}
}

// knowCounts notes what was used and is held, of accounts in a state.
func (o *own) knowCounts(of witness, counts []count) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of.epoch != o.seen.epoch {
		return
	}
	o.learnCounts(counts, of.seq >= o.seen.seq)
	o.seen.seq = max(o.seen.seq, of.seq)
}

// learnCounts notes what was used and is held. The lock is held.
func (o *own) learnCounts(counts []count, newer bool) {
	for _, c := range counts {
		if !c.held {
			o.note(c.period, c.unit, c.n, newer)
			continue
		}
		for q := 2 * c.unit; q < 2*c.unit+2; q++ {
			if c.period == o.date.Period(q) {
				o.held[q] = c.n
			}
		}
	}
}

// counts lists what was used, as far as is known.
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

// placed notes a hold that Redis has.
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

// admitted notes what came of an admission.
func (o *own) admitted(s *standing, h *limit.Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.learn(s)
	if h != nil {
		o.place(h, due)
	}
}

// extended notes that a hold has a longer lease.
func (o *own) extended(id string, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, mine := o.holds[id]; mine {
		o.holds[id] = ownHold{h.Held, due}
	}
}

// settled notes that Redis holds something no more.
func (o *own) settled(h *limit.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, mine := o.holds[h.ID]
	delete(o.holds, h.ID)
	if !mine && !h.Task || mine && len(o.ended[0]) >= endedMost {
		return
	}
	if o.ended[0] == nil {
		o.ended[0] = map[string]bool{}
	}
	o.ended[0][h.ID] = !mine
}

// all lists what there is to tell: a hold without a due time was settled, and only its id is known, and whether it is a task's
// that another replica may take for open.
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

// ids lists the holds that nobody has ended, as far as is known here.
func (o *own) ids() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.holds))
}

// walked drops what others have ended, and what every other replica has learnt by now: each walks once a minute, and
// learns of the ends by then.
func (o *own) walked(gone []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range gone {
		delete(o.holds, id)
	}
	o.ended = [3]map[string]bool{nil, o.ended[0], o.ended[1]}
}
