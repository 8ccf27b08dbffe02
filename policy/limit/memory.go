package limit

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sweepBatch is how many holds whose lease has ended an admission charges first.
const sweepBatch = 16

// lateTruth is how long after the end of its lease a hold may still be corrected.
const lateTruth = 24 * time.Hour

// Memory keeps the accounts in this process. They die with it. It is safe for concurrent use.
type Memory struct {
	now   func() time.Time
	mu    sync.Mutex
	teams map[string]*account
	own   map[string]*bucket // of the upstream account, by name
	last  time.Time
	dry   atomic.Bool   // buckets that are new now are empty instead of full
	late  func(h *Held) // takes a hold whose lease has ended, instead of the ledger; nil: the ledger does

	counted atomic.Pointer[openHolds] // as Tend last saw them; nil: not yet
}

// NewMemory returns empty accounts: every bucket is full, nothing is used.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, teams: make(map[string]*account), own: make(map[string]*bucket)}
}

// account is one team's.
type account struct {
	bank    *Memory
	mu      sync.Mutex
	last    time.Time
	date    calendar
	buckets [rateCount]*bucket
	used    map[int]Amounts // by day (yyyymmdd) and by month (yyyymm)
	held    map[int]Amounts
	tasks   int64
	holds   map[string]*heldIn
	due     leases
	ledger  ledger
	ended   []*Charge // a standby's: of tasks that Redis was not told of
}

// heldIn is a hold in memory: open, or charged because its lease has ended.
type heldIn struct {
	Held
	rates   bool // its amounts were taken from the buckets
	expired bool
	apart   bool      // a standby's: Redis may know it too
	told    bool      // a standby's: Redis does
	since   time.Time // when it was made
	due     time.Time // the end of its lease; once expired, when it is forgotten
	index   int       // in leases
}

func (m *Memory) account(team string) *account {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.teams[team]
	if a == nil {
		a = &account{bank: m, used: map[int]Amounts{}, held: map[int]Amounts{}, holds: map[string]*heldIn{}, ledger: ledger{}}
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

func (m *Memory) admit(_ context.Context, h *Hold, t *terms) (state, error) {
	if !h.Amounts.valid() {
		return state{}, errAmounts
	}
	a := m.account(h.Team.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(m.now)
	a.sweep(now, sweepBatch)
	s := a.read(t, now)
	if a.holds[h.ID] != nil {
		s.outcome = admitted
		return s, nil
	}
	s.decide(t, h, a.waits(h, t, now))
	if s.outcome != refused && h.ID != "" {
		a.hold(h, t, &s)
		a.tell(h, t, &s)
	}
	return s, nil
}

// read describes the account, and brings its buckets to the rates of the day.
func (a *account) read(t *terms, now time.Time) state {
	s := state{at: now, date: a.date.at(now), fault: limitNone, tasks: a.tasks}
	for p, period := range [2]int{s.date.day, s.date.month} {
		used, held := a.used[period], a.held[period]
		for unit := range used {
			s.used[2*unit+p], s.held[2*unit+p] = used[unit], held[unit]
		}
	}
	a.fit(t, now)
	for i := range t.rates {
		if t.rates[i].Limit > 0 {
			s.rates[i] = a.buckets[i].fill(now)
		}
	}
	return s
}

// fit brings the buckets to the rates of the day, and makes those that there are not yet.
func (a *account) fit(t *terms, now time.Time) {
	for i := range t.rates {
		r := &t.rates[i]
		switch b := a.buckets[i]; {
		case r.Limit == 0: // a bucket from before a reload stays as it is, in case the rate comes back
		case b != nil:
			b.set(r, now)
		default:
			a.buckets[i] = newBucket(*r)
			if a.bank.dry.Load() {
				a.buckets[i].take(r.Burst, now)
			}
		}
	}
}

// tell brings what was read of an account up to date with a hold that was placed since.
func (a *account) tell(h *Hold, t *terms, s *state) {
	for unit, n := range h.Amounts {
		s.held[2*unit] += n
		s.held[2*unit+1] += n
		if unit < rateCount && n > 0 && t.rates[unit].Limit > 0 {
			s.rates[unit] = a.buckets[unit].fill(s.at)
		}
	}
	s.tasks = a.tasks
}

func (a *account) waits(h *Hold, t *terms, now time.Time) (waits [rateCount]time.Duration) {
	for i, r := range t.rates {
		if r.Limit > 0 && h.Amounts[i] > 0 {
			waits[i] = a.buckets[i].wait(h.Amounts[i], now)
		}
	}
	return waits
}

func (a *account) hold(h *Hold, t *terms, s *state) {
	day, month := s.date.day, s.date.month
	held := &heldIn{Held: *heldOf(h, s.date), rates: s.outcome == admitted, due: s.at.Add(h.Lease), since: s.at}
	a.holds[h.ID] = held
	heap.Push(&a.due, held)
	a.held[day], a.held[month] = a.held[day].plus(h.Amounts), a.held[month].plus(h.Amounts)
	if h.Task {
		a.tasks++
	}
	if held.rates {
		a.correct(t, Amounts{}, h.Amounts, s.at)
	}
}

// free takes a hold's amounts out of what its day and month hold.
func (a *account) free(h *heldIn) {
	for _, period := range []int{h.Day, h.Month} {
		if rest := a.held[period].minus(h.Amounts); rest != (Amounts{}) {
			a.held[period] = rest
		} else {
			delete(a.held, period)
		}
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
func (a *account) post(h *Held, amounts, estimated Amounts) {
	a.use(h, amounts)
	a.ledger.post(h.Day, h.Model, h.Endpoint, amounts, estimated)
}

func (a *account) use(h *Held, amounts Amounts) {
	a.used[h.Day], a.used[h.Month] = a.used[h.Day].plus(amounts), a.used[h.Month].plus(amounts)
}

// settle charges a hold once. In memory no hold is ever lost, so one that is unknown was settled before.
func (m *Memory) settle(_ context.Context, c *Charge, t *terms) (bool, error) {
	if !c.Amounts.valid() {
		return false, errAmounts
	}
	a := m.account(c.Held.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(m.now)
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
		change, doubt = change.minus(held.Amounts), doubt.minus(held.Amounts)
		a.forget(held)
	} else {
		a.drop(held)
	}
	a.post(&held.Held, change, doubt)
	if held.rates {
		a.correct(t, held.Amounts, c.Amounts, now)
	}
	return true, nil
}

// correct brings the buckets from what was held to what was used.
func (a *account) correct(t *terms, held, used Amounts, now time.Time) {
	for i, r := range t.rates {
		switch {
		case r.Limit == 0:
		case used[i] > held[i]:
			a.buckets[i].take(used[i]-held[i], now)
		default:
			a.buckets[i].give(held[i]-used[i], now)
		}
	}
}

func (m *Memory) extend(_ context.Context, h *Held, lease time.Duration) error {
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.holds[h.ID]; held != nil && !held.expired {
		held.lengthen(a.time(m.now).Add(lease))
		heap.Fix(&a.due, held.index)
	}
	return nil
}

// sweep charges holds whose lease has ended as they were estimated, and forgets those that nobody will correct.
func (a *account) sweep(now time.Time, most int) (n int) {
	for ; n < most && len(a.due) > 0 && !a.due[0].due.After(now); n++ {
		h := a.due[0]
		if h.expired {
			a.forget(h)
			continue
		}
		if a.bank.late != nil {
			a.drop(h)
			a.use(&h.Held, h.Amounts)
			a.bank.late(&h.Held)
			continue
		}
		a.free(h)
		a.post(&h.Held, h.Amounts, h.Amounts)
		h.expired, h.due = true, h.due.Add(lateTruth)
		heap.Fix(&a.due, h.index)
	}
	return n
}

func (m *Memory) sweep(_ context.Context, team string, most int) (int, error) {
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
