package limit

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sweepBatch is how many expired holds an admission charges before it decides.
const sweepBatch = 16

// LateTruth is how long after the end of its lease a hold may still be corrected, so that a replica that was cut off for two days can
// tell what it cost. Settled tasks are remembered as long, because other replicas may see their end late.
const LateTruth = 49 * time.Hour

// Memory keeps the accounts in this process. They die with it. It is safe for concurrent use.
type Memory struct {
	now   func() time.Time
	mu    sync.Mutex
	teams map[string]*account
	own   map[string]*bucket // of the upstream account, by name
	last  time.Time
	dry   atomic.Bool // buckets that are new now are empty instead of full

	counted atomic.Pointer[OpenHolds] // as Maintain last saw them; nil: not yet
}

// NewMemory returns empty accounts: every bucket is full, nothing is used.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, teams: make(map[string]*account), own: make(map[string]*bucket)}
}

// account is one team's.
type account struct {
	bank    *Memory
	terms   atomic.Pointer[readTerms]
	mu      sync.Mutex
	last    time.Time
	date    Calendar
	buckets [RateCount]*bucket
	periods map[int]*tally // by day (yyyymmdd) and by month (yyyymm)
	tasks   int64
	holds   map[string]*heldIn
	due     leases
	ledger  ledger
	tags    tagBook
}

// tally counts the use of one day or month, and its holds.
type tally struct{ used, held Amounts }

// heldIn is a hold in memory: held or expired.
type heldIn struct {
	Held
	in      [2]*tally // of its day and of its month
	tag     *tagTally // of its tag's value and its day; nil: no quota counts by tag
	expired bool
	since   time.Time // when it was made
	due     time.Time // the end of its lease; once expired, when it is forgotten
	index   int       // in leases
}

func (m *Memory) account(team string) *account {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.teams[team]
	if a == nil {
		a = &account{bank: m, periods: map[int]*tally{}, holds: map[string]*heldIn{}, ledger: ledger{}, tags: tagBook{}}
		m.teams[team] = a
	}
	return a
}

// time returns a time that never goes back: the clock is read under the account's lock.
func (a *account) time(now func() time.Time) time.Time {
	if t := now(); t.After(a.last) {
		a.last = t
	}
	return a.last
}

// Place is Admit without the upstream account's rates, and returns the whole state. A hold without an id is not placed: the state
// alone is returned.
func (m *Memory) Place(h *Hold, t *Terms) (State, error) {
	return m.account(h.Team.ID).admit(h, t)
}

func (a *account) admit(h *Hold, t *Terms) (s State, err error) {
	if !h.Amounts.Valid() {
		return s, ErrAmounts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(a.bank.now)
	a.sweep(now, sweepBatch)
	a.fit(t, now)
	a.read(&s, now)
	a.readTag(&s, t, h.Tag)
	missing := a.missing(t, now)
	if a.holds[h.ID] != nil {
		s.Outcome = Admitted
	} else if s.decide(t, h, a.waits(h, t, &missing)); s.Outcome != Refused && h.ID != "" {
		a.hold(h, t, &s, now)
		if s.Outcome == Admitted {
			a.take(h, t, &missing, now)
		}
	}
	s.Rates = a.fills(t, &missing)
	return s, nil
}

// read fills in the state except for the buckets.
func (a *account) read(s *State, now time.Time) {
	s.At, s.Fault, s.Tasks = now, LimitNone, a.tasks
	s.Date = a.date.at(s.At)
	for p, period := range [2]int{s.Date.Day, s.Date.Month} {
		if in := a.periods[period]; in != nil {
			for unit := range in.used {
				s.Used[2*unit+p], s.Held[2*unit+p] = in.used[unit], in.held[unit]
			}
		}
	}
}

// readTag fills in what a value of the tag used and holds, if quotas count that.
func (a *account) readTag(s *State, t *Terms, value string) {
	if !t.ByTag {
		return
	}
	today, month, other := a.tags.read(&s.Date, value)
	s.TagOther = other
	for unit := range today.used {
		s.TagUsed[2*unit], s.TagHeld[2*unit] = today.used[unit], today.held[unit]
		s.TagUsed[2*unit+1], s.TagHeld[2*unit+1] = month.used[unit], month.held[unit]
	}
}

// hold places a hold, and brings the state up to date with it.
func (a *account) hold(h *Hold, t *Terms, s *State, now time.Time) {
	held := &heldIn{
		Held: *HeldOf(h, s.Date, s.takes(t)), in: [2]*tally{a.tally(s.Date.Day), a.tally(s.Date.Month)},
		due: now.Add(h.Lease), since: now,
	}
	a.holds[h.ID] = held
	if t.ByTag {
		held.tag = a.tags.on(s.Date.Day).tally(h.Tag)
		held.tag.held = held.tag.held.Plus(h.Amounts)
		a.readTag(s, t, h.Tag)
	}
	heap.Push(&a.due, held)
	for p, in := range held.in {
		in.held = in.held.Plus(h.Amounts)
		for unit, n := range in.held {
			s.Held[2*unit+p] = n
		}
	}
	if h.Task {
		a.tasks++
	}
	s.Tasks, s.placed = a.tasks, &held.Held
}

func (a *account) tally(period int) *tally {
	in := a.periods[period]
	if in == nil {
		in = new(tally)
		a.periods[period] = in
	}
	return in
}

// free takes a hold's amounts out of what its day and month hold.
func (a *account) free(h *heldIn) {
	for _, in := range h.in {
		in.held = in.held.Minus(h.Amounts)
	}
	if h.tag != nil {
		h.tag.held = h.tag.held.Minus(h.Amounts)
	}
	if h.Task {
		a.tasks--
	}
}

// drop ends an open hold.
func (a *account) drop(h *heldIn) {
	a.free(h)
	a.forget(h)
}

func (a *account) forget(h *heldIn) {
	delete(a.holds, h.ID)
	heap.Remove(&a.due, h.index)
}

// post adds to what the hold's day and month used, and to the ledger. A correction may be negative.
func (a *account) post(h *heldIn, amounts, estimated Amounts) {
	h.use(amounts)
	a.ledger.post(h.Day, h.Model, h.Endpoint, amounts, estimated)
	if h.Tag != "" {
		in := a.tags.on(h.Day).tally(h.Tag.Value())
		in.used, in.estimated = in.used.Plus(amounts), in.estimated.Plus(estimated)
	}
}

func (h *heldIn) use(amounts Amounts) {
	for _, in := range h.in {
		in.used = in.used.Plus(amounts)
	}
}

// Post is Settle without the upstream account's rates. It refuses amounts that cannot be counted exactly.
func (m *Memory) Post(c *Charge, t *Terms) (bool, error) {
	return m.account(c.Held.Team).settle(c, t)
}

// settle charges a hold once. Memory never loses a hold, so an unknown one was settled before.
func (a *account) settle(c *Charge, t *Terms) (bool, error) {
	if !c.Amounts.Valid() {
		return false, ErrAmounts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(a.bank.now)
	a.fit(t, now)
	held := a.holds[c.Held.ID]
	if held == nil {
		return false, nil
	}
	change, doubt := c.Amounts, Amounts{}
	if c.Estimated {
		doubt = c.Amounts
	}
	if held.expired {
		change, doubt = change.Minus(held.Amounts), doubt.Minus(held.Amounts)
		a.forget(held)
	} else {
		a.drop(held)
	}
	a.post(held, change, doubt)
	a.correct(t, held.Rates, held.Amounts, c.Amounts, now)
	return true, nil
}

// Extend gives an open hold a new lease, counted from now.
func (m *Memory) Extend(_ context.Context, h *Held, lease time.Duration) error {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.holds[h.ID]; held != nil && !held.expired {
		if due := a.time(m.now).Add(lease); due.After(held.due) {
			held.due = due
		}
		heap.Fix(&a.due, held.index)
	}
	return nil
}

// sweep lets holds expire whose lease has ended, and forgets those that expired long ago.
func (a *account) sweep(now time.Time, most int) (n int) {
	for ; n < most && len(a.due) > 0 && !a.due[0].due.After(now); n++ {
		h := a.due[0]
		if h.expired {
			a.forget(h)
			continue
		}
		a.free(h)
		a.post(h, h.Amounts, h.Amounts)
		h.expired, h.due = true, h.due.Add(LateTruth)
		heap.Fix(&a.due, h.index)
	}
	return n
}

// Sweep charges up to most holds of a team whose lease has ended, and says how many there were.
func (m *Memory) Sweep(_ context.Context, team string, most int) (int, error) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sweep(a.time(m.now), most), nil
}

// leases is a heap of holds by the end of their lease.
type leases []*heldIn

func (l leases) Len() int           { return len(l) }
func (l leases) Less(i, j int) bool { return l[i].due.Before(l[j].due) }
func (l leases) Swap(i, j int)      { l[i], l[j] = l[j], l[i]; l[i].index, l[j].index = i, j }
func (l *leases) Push(x any)        { h := x.(*heldIn); h.index = len(*l); *l = append(*l, h) }
func (l *leases) Pop() any {
	old := *l
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*l = old[:len(old)-1]
	return h
}
