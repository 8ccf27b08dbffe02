package limit

import (
	"context"
	"time"

	"sluice/policy/teams"
)

// Admit places a hold in all of its accounts and units, or refuses it and takes nothing. The error is about the state, never about the
// team.
func (m *Memory) Admit(_ context.Context, h *Hold) (v Verdict, err error) {
	h = h.OnAccount()
	a := m.teams.Get(h.Team.ID)
	t := a.termsFor(h.Team, h.Key)
	if v, never := h.NeverFits(t); never {
		return v, nil
	}
	others := h.Outer()
	h.Uncounted(func(id string) { without(m, id) })
	in := make([]*account, len(others))
	for i := range others {
		in[i] = seeded(m, others[i].Team.ID)
	}
	if err = verdictOf(&v, a, h, t); err == nil && others != nil {
		err = admitOuter(m, h, others, in, &v)
	}
	switch {
	case err != nil:
		return Verdict{}, err
	case len(h.Rated()) == 0:
		return v, nil
	case v.Held == nil:
		fault, wait := m.outside.look(h.Rated(), &h.Amounts, 1)
		return v.OrOutside(fault, wait, h), nil
	}
	if fault, wait := m.outside.take(h.Rated(), &h.Amounts, false, 1); wait > 0 {
		_, err := m.Settle(context.Background(), &Charge{Held: v.Held, Team: h.Team}) // it was never sent
		return v.RefuseOutside(fault, wait, h), err
	}
	if others == nil {
		own := *v.Held // the one in the accounts never changes
		v.Held = &own
	}
	v.Held.Outside = h.Rated()
	return v, nil
}

// admitOuter places the holds in their accounts outside of the team, of which v is the verdict, and brings that up to date.
func admitOuter(m *Memory, h *Hold, others []Hold, in []*account, v *Verdict) error {
	all := make([]Verdict, 1, 2)
	if all[0] = *v; v.Held != nil {
		own := *v.Held // the one in the accounts never changes
		all[0].Held = &own
	}
	for i := range others {
		o := &others[i]
		if v.Held == nil { // nothing is placed: only the wait is needed
			o.ID = ""
		}
		all = append(all, Verdict{})
		if err := verdictOf(&all[1+i], in[i], o, in[i].termsFor(o.Team, "")); err != nil {
			return err
		}
	}
	among, back := Among(h, all)
	for _, held := range back {
		if _, err := m.settle(h.Release(held)); err != nil {
			return err
		}
	}
	*v = *among
	return nil
}

// Settle charges a hold, once, with what the request used, in all of its accounts. It reports whether this call did.
func (m *Memory) Settle(_ context.Context, c *Charge) (bool, error) {
	if bound := c.Amounts.Bound(); bound != c.Amounts {
		c.Amounts = bound
	}
	done, err := m.settle(c)
	for _, h := range c.Held.Outer {
		if _, failed := m.settle(c.Outer(h)); err == nil {
			err = failed
		}
	}
	if err == nil {
		c.CallTaken(done)
	}
	return done, err
}

// settle charges a hold in one account, and the rates outside of it. The amounts are valid.
func (m *Memory) settle(c *Charge) (bool, error) {
	a := m.teams.Get(c.Held.Team)
	done, err := a.settle(c, a.termsFor(c.Team, c.Held.Key.Name()))
	if done && len(c.Held.Outside) > 0 {
		m.outside.correct(c, 1)
	}
	return done, err
}

// SettleLater settles a hold. In memory that takes no time, so it is done immediately.
func (m *Memory) SettleLater(c *Charge) { _, _ = m.Settle(context.Background(), c) }

// Maintain charges the holds whose lease has ended, of all teams, and counts those that are open.
func (m *Memory) Maintain(context.Context) error {
	var all OpenHolds
	m.teams.Each(func(id string, a *account) {
		a.mu.Lock()
		a.sweep(a.time(), tendBatch)
		a.mu.Unlock()
		if !teams.IsOutside(id) { // its holds are the teams'
			all.Add(a.openHolds())
		}
	})
	m.counted.Store(&all)
	return nil
}

// Holds returns how many holds were open when Maintain last looked, and when the oldest of them was made: zero if none is
// open. Until Maintain has run the error is [ErrUncounted].
func (m *Memory) Holds(context.Context) (open int, oldest time.Time, err error) {
	if o := m.counted.Load(); o != nil {
		return o.Count, o.Oldest, nil
	}
	return 0, time.Time{}, ErrUncounted
}

func (a *account) openHolds() (o OpenHolds) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		if !h.expired {
			o.Note(h.since)
		}
	}
	return o
}

// OpenTasks returns how many tasks of a team are open.
func (m *Memory) OpenTasks(team string) int64 {
	a := m.teams.Known(team)
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks
}

// tendBatch is how many holds of one team are charged at a time while no request waits.
const tendBatch = 1000

// Close does nothing: the accounts end with the process.
func (m *Memory) Close(context.Context) error { return nil }

// LookInside reports how the parts of a team stand to the limits of each: its values of the tag as [TagStandings] does, or its keys
// as [KeyStandings] does. It takes nothing.
func (m *Memory) LookInside(_ context.Context, team *teams.Team, k ScopeKind, at time.Time) ([]Standing, error) {
	a := m.teams.Get(team.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	var days []InnerDay
	for _, day := range InnerDays(team, k, at) {
		for name, in := range a.books[k][0][day] {
			days = append(days, InnerDay{Day: day, Name: name, Used: in.used, Held: in.held})
		}
	}
	if k == ScopeTag {
		return TagStandings(team, at, days), nil
	}
	now := a.time()
	return KeyStandings(team, at, days, func(key string) (full [RateCount]time.Duration) {
		scope := a.termsFor(team, key).Of(k)
		if b := a.bucketsIn(scope, key, now); b != nil {
			for i, n := range b.missing(scope, now) {
				full[i] = micros(n)
			}
		}
		return full
	}), nil
}

// LastKnown reports how much of its quotas a team has used.
func (m *Memory) LastKnown(team *teams.Team) Report {
	r, _ := m.Look(context.Background(), team) // it never fails
	return r.Quotas()
}

// Look reports how much of each limit a team has used. It takes nothing.
func (m *Memory) Look(_ context.Context, team *teams.Team) (Report, error) {
	t := TermsOf(team)
	s, err := m.Place(&Hold{Team: team}, &t)
	return s.Report(&t), err
}

// LookAll reports for each of some teams what Look does, or inside them what LookInside does. It takes nothing.
func (m *Memory) LookAll(ctx context.Context, list []*teams.Team, inside bool, at time.Time) [][]Standing {
	all := make([][]Standing, len(list))
	for i, team := range list {
		if !inside {
			r, _ := m.Look(ctx, team) // it never fails
			all[i] = r.Limits
			continue
		}
		for k := range ScopeKind(InnerScopes) {
			some, _ := m.LookInside(ctx, team, k+1, at)
			all[i] = append(all[i], some...)
		}
	}
	return all
}

// bucketsIn returns the buckets of a scope, as full as its current rates have them; nil: it has no rates.
func (a *account) bucketsIn(s *Scope, name string, now time.Time) *buckets {
	if !s.Rated {
		return nil
	}
	b := &a.buckets
	if s.Kind != ScopeTeam {
		of := &a.inside[s.Kind-1]
		if *of == nil {
			*of = map[string]*buckets{}
		}
		if b = (*of)[name]; b == nil {
			b = new(buckets)
			(*of)[name] = b
		}
	}
	b.fit(s, a.dry.Load(), now)
	return b
}

// rated is the buckets of a hold's scopes at one moment.
type rated struct {
	of      [TeamScopes]*buckets // nil: the scope has no rates
	missing [TeamScopes][RateCount]int64
	waits   [TeamScopes][RateCount]time.Duration
}

func (a *account) rated(t *Terms, h *Hold, now time.Time) (r rated) {
	for k := range ScopeKind(TeamScopes) {
		if b := a.bucketsIn(t.Of(k), h.nameIn(k), now); b != nil {
			r.of[k], r.missing[k] = b, b.missing(t.Of(k), now)
			r.waits[k] = b.waits(t.Of(k), &h.Amounts, &r.missing[k])
		}
	}
	return r
}

func (r *rated) take(t *Terms, amounts *Amounts, now time.Time) {
	for k, b := range r.of {
		if b != nil {
			b.take(t.Of(ScopeKind(k)), amounts, &r.missing[k], now)
		}
	}
}

// fill fills in how full the buckets are.
func (r *rated) fill(t *Terms, s *State) {
	for k, b := range r.of {
		if b != nil {
			s.Of(ScopeKind(k)).Rates = b.fills(t.Of(ScopeKind(k)), &r.missing[k])
		}
	}
}

// correct brings the buckets that a hold was taken from, from the amount taken to the amount used.
func (a *account) correct(t *Terms, h *Held, rates RateSet, held, used *Amounts, now time.Time) {
	for k := range ScopeKind(TeamScopes) {
		if b := a.bucketsIn(t.Of(k), h.Inner(k).Name(), now); b != nil {
			b.correct(t.Of(k), rates.Of(k), held, used, now)
		}
	}
}
