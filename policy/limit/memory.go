package limit

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/event"
	"sluice/policy/price"
	"sluice/policy/teams"
)

// sweepBatch is how many expired holds an admission charges before it decides.
const sweepBatch = 16

// LateTruth is how long after the end of its lease a hold may still be corrected, so that a replica that was cut off for two days
// can still report its cost. Settled tasks are remembered as long, because other replicas may see their end late.
const LateTruth = 49 * time.Hour

// Memory keeps the accounts in this process. They die with it. It is safe for concurrent use.
type Memory struct {
	// Events takes the events of charges; nil: they are not written. It is set before the first call.
	Events *event.Memory
	// Alerts say which thresholds of quotas a charge announces, to Events; nil: none. It is set like Events.
	Alerts Alerts

	teams   teams.PerTeam[account]
	outside outside
	dry     atomic.Bool               // buckets that are new now are empty instead of full
	counted atomic.Pointer[OpenHolds] // as Maintain last counted them; nil: not yet
}

// NewMemory returns empty accounts: every bucket is full, nothing is used.
func NewMemory(now func() time.Time) *Memory {
	m := &Memory{outside: outside{now: now, of: map[string]*buckets{}}}
	m.outside.dry = &m.dry
	m.teams.First = func(string) *account {
		return &account{in: m, now: now, dry: &m.dry, holds: map[string]*heldIn{}, ledger: ledger{}}
	}
	return m
}

// account is one team's.
type account struct {
	in      *Memory
	now     func() time.Time
	dry     *atomic.Bool // buckets that are new now are empty
	terms   KeptTerms
	mu      sync.Mutex
	last    time.Time
	date    Calendar
	buckets buckets                          // the team's
	inside  [InnerScopes]map[string]*buckets // of the scopes inside it that have rates, by kind and name
	books   [TeamScopes]book                 // by kind
	tasks   int64
	holds   map[string]*heldIn
	due     leases
	ledger  ledger
	seed    memorySeed // of an account outside of the teams
}

// heldIn is a hold in memory: held or expired.
type heldIn struct {
	Held
	of      [TeamScopes]*tally // of its day, by kind of scope; nil: nothing is held in that scope
	expired bool
	since   time.Time // when it was made
	due     time.Time // the end of its lease; once expired, when it is forgotten
	index   int       // in leases
}

// time returns a time that never goes back: the clock is read under the account's lock.
func (a *account) time() time.Time {
	if t := a.now(); t.After(a.last) {
		a.last = t
	}
	return a.last
}

// termsFor returns the terms of the account's team and of one of its keys. They change with a reload.
func (a *account) termsFor(t *teams.Team, key string) *Terms { return a.terms.For(t, key) }

// Place is Admit without the scopes outside of the team, and returns the whole state. A hold without an id is not placed: only the
// state is returned.
func (m *Memory) Place(h *Hold, t *Terms) (s State, err error) {
	err = m.teams.Get(h.Team.ID).admit(h, t, &s)
	return s, err
}

// verdictOf is admit with the verdict alone. The state is large: without it in their frames, callers keep within a small stack.
func verdictOf(v *Verdict, a *account, h *Hold, t *Terms) error {
	var s State
	err := a.admit(h, t, &s)
	if err == nil {
		*v = s.Verdict(t, h)
	}
	return err
}

// admit places a hold, and fills in a state that is zero.
func (a *account) admit(h *Hold, t *Terms, s *State) error {
	if !h.Amounts.Valid() {
		return ErrAmounts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time()
	a.sweep(now, sweepBatch)
	s.Fault = LimitNone
	of := a.read(s, t, h, now)
	rates := a.rated(t, h, now)
	if a.holds[h.ID] != nil {
		s.Outcome = Admitted
	} else if s.decide(t, h, &rates.waits); s.Outcome != Refused && h.ID != "" {
		a.hold(h, t, s, of, now)
		if s.Outcome == Admitted {
			rates.take(t, &h.Amounts, now)
		}
	}
	rates.fill(t, s)
	return nil
}

// read fills in the state without the buckets. It returns the tally of each scope; nil: the scope has none yet.
func (a *account) read(s *State, t *Terms, h *Hold, now time.Time) (of [TeamScopes]*tally) {
	s.At, s.Tasks = now, a.tasks
	s.Date = a.date.at(s.At)
	for k := range ScopeKind(TeamScopes) {
		if k == ScopeTeam || t.Of(k).Quoted {
			of[k] = a.books[k].read(&s.Date, h.nameIn(k), k == ScopeKey, s.Of(k))
		}
	}
	return of
}

// hold places a hold, and brings the state up to date with it.
func (a *account) hold(h *Hold, t *Terms, s *State, of [TeamScopes]*tally, now time.Time) {
	held := &heldIn{of: of, due: now.Add(h.Lease), since: now}
	heldOf(&held.Held, h, t, &s.Date)
	held.Rates = s.takes(t)
	for k := range ScopeKind(TeamScopes) {
		if k == ScopeTeam || t.Of(k).Quoted {
			if of[k] == nil {
				held.of[k] = a.books[k].tally(s.Date.Day, h.nameIn(k), k == ScopeKey)
			}
			s.Of(k).hold(&h.Amounts)
		}
	}
	a.holds[h.ID] = held
	heap.Push(&a.due, held)
	held.add(&h.Amounts)
	if h.Task {
		a.tasks++
		s.Tasks++
	}
	s.Made = &held.Held
}

// add adds amounts to what its scopes hold.
func (h *heldIn) add(amounts *Amounts) {
	for _, in := range h.of {
		if in != nil {
			in.hold(amounts)
		}
	}
}

// free takes a hold's amounts out of what its scopes hold.
func (a *account) free(h *heldIn) {
	less := Amounts{}.Minus(h.Amounts)
	h.add(&less)
	if h.Task {
		a.tasks--
	}
}

func (a *account) forget(h *heldIn) {
	delete(a.holds, h.ID)
	heap.Remove(&a.due, h.index)
}

// post adds amounts to what the hold's scopes used, and to the ledger. kinds divide the hold's whole use. Amounts may be negative, in
// a correction.
func (a *account) post(h *heldIn, amounts, estimated Amounts, kinds price.ByKind) {
	for k, in := range h.of {
		if name, charged := h.in(ScopeKind(k)); charged && in == nil {
			in = a.books[k].tally(h.Day, name, false)
		}
		if in != nil {
			in.use(&amounts, &estimated)
		}
	}
	a.ledger.post(h.Day, rowName{h.Model, h.Endpoint, h.Account}, amounts, estimated, kinds)
}

// Post is Settle without the scopes outside of the team. It refuses amounts that cannot be counted exactly.
func (m *Memory) Post(c *Charge, t *Terms) (bool, error) {
	return m.teams.Get(c.Held.Team).settle(c, t)
}

// settle charges a hold once. Memory never loses a hold, so an unknown one was settled before.
func (a *account) settle(c *Charge, t *Terms) (bool, error) {
	if !c.Amounts.Valid() {
		return false, ErrAmounts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time()
	held := a.holds[c.Held.ID]
	if held == nil {
		return false, nil
	}
	reached, change, doubt := reachingOf(a, c), c.Amounts, Amounts{}
	if c.Estimated {
		doubt = c.Amounts
	}
	moved := held.Account != accountOf(c.Held.Account)
	switch {
	case held.expired && moved: // its expiry was charged on the old account
		back := Amounts{}.Minus(held.Amounts)
		a.post(held, back, back, "")
	case held.expired:
		change, doubt = change.Minus(held.Amounts), doubt.Minus(held.Amounts)
	default:
		a.free(held)
	}
	if a.forget(held); moved {
		own := *held
		own.Account, held = accountOf(c.Held.Account), &own
	}
	a.post(held, change, doubt, c.ByKind())
	a.correct(t, &held.Held, held.Rates, &held.Amounts, &c.Amounts, now)
	if a.in.Events != nil && c.Event != nil {
		_, _ = a.in.Events.Append(context.Background(), c.Event) // it never fails
	}
	reached.announce()
	return true, nil
}

// Extend gives an open hold a new lease, counted from now, in all of its accounts.
func (m *Memory) Extend(ctx context.Context, h *Held, lease time.Duration) error {
	m.teams.Get(h.Team).extend(h.ID, lease)
	for _, o := range h.Outer {
		_ = m.Extend(ctx, o, lease) // it never fails
	}
	return nil
}

func (a *account) extend(id string, lease time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.holds[id]; held != nil && !held.expired {
		if due := a.time().Add(lease); due.After(held.due) {
			held.due = due
		}
		heap.Fix(&a.due, held.index)
	}
}

// sweep expires holds whose lease has ended, and forgets those that expired long ago.
func (a *account) sweep(now time.Time, most int) (n int) {
	for ; n < most && len(a.due) > 0 && !a.due[0].due.After(now); n++ {
		h := a.due[0]
		if h.expired {
			a.forget(h)
			continue
		}
		a.free(h)
		a.post(h, h.Amounts, h.Amounts, "")
		h.expired, h.due = true, h.due.Add(LateTruth)
		heap.Fix(&a.due, h.index)
	}
	return n
}

// Sweep charges up to most holds of a team whose lease has ended, and returns how many it charged.
func (m *Memory) Sweep(_ context.Context, team string, most int) (int, error) {
	a := m.teams.Get(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sweep(a.time(), most), nil
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
