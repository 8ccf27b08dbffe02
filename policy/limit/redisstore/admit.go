package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Loan is the part of its replica's allowance that a call may take if a quota has no room left. The zero Loan is nothing.
type Loan struct {
	Name any         // the allowance's, a string; nil: there is none
	Most limit.Stock // what may be taken
	Took limit.Stock // what was taken, set by Place
}

func (l *Loan) name() any {
	if l.Name == nil {
		return ""
	}
	return l.Name
}

// Place places a hold in all of its units at once, or refuses it and takes nothing, and returns the time by Redis's clock. After
// [limit.ErrAway] Redis was not asked; after another error it is not known whether the hold was placed, unless [NotDone] says so.
func (r *Store) Place(ctx context.Context, h *limit.Hold, l *Loan) (limit.Verdict, time.Time, error) {
	var s standing
	t := r.teams.Get(h.Team.ID)
	err := r.whole(ctx, h.Team.ID, func() (err error) {
		s, err = r.admit(ctx, h, l, t.version())
		return err
	})
	if err != nil {
		return limit.Verdict{}, s.At, err
	}
	l.Took = s.took
	v := s.Verdict(&t.wired(h.Team).terms, h)
	t.admitted(&s, v.Held, s.At.Add(h.Lease))
	if v.Held == nil || len(h.Account) == 0 {
		return v, s.At, nil
	}
	fault, wait, err := r.takeAccount(ctx, h)
	switch {
	case errors.Is(err, limit.ErrAway): // of the account's node; the hold was placed
		return limit.Verdict{}, s.At, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // it must not be taken for ErrAway
	case err != nil:
		return limit.Verdict{}, s.At, err
	case wait > 0:
		release := &limit.Charge{Held: v.Held, Team: h.Team}
		refused := v.RefuseAccount(fault, wait, h)
		if r.SettleAll(ctx, []*limit.Charge{release}, false)[0].Err != nil {
			refused.Owed = release
		}
		return refused, s.At, nil
	}
	v.Held.Account = h.Account
	return v, s.At, nil
}

// whole makes a call about a team's accounts. If the accounts that this process knows are lost, it restores what is known and
// repeats the call.
func (r *Store) whole(ctx context.Context, team string, do func() error) (err error) {
	for range 3 { // other replicas restore too, each with its epoch
		if err = do(); !errors.Is(err, ErrNotDone) {
			return err
		}
		if err := r.Restore(ctx, team, Loss{}); err != nil {
			return fmt.Errorf("%w: %w", ErrNotDone, err)
		}
	}
	return err
}

// calls are used calls, whose arrays the next ones use.
var calls = sync.Pool{New: func() any { return new(call) }}

// admit places a hold by admit.lua.
func (r *Store) admit(ctx context.Context, h *limit.Hold, l *Loan, known version) (s standing, err error) {
	if !h.Amounts.Valid() {
		return s, limit.ErrAmounts
	}
	k := r.teams.Get(h.Team.ID)
	w := k.wired(h.Team)
	p := w.planFor(k.teamKeys, &h.Amounts)
	keys := append(make([]any, 0, 8), k.quota, k.open, k.hold+h.ID)
	for i := range p.rates {
		keys = append(keys, p.rates[i].key)
	}
	today := r.today.at(r.Now())
	c := r.beginIn(calls.Get().(*call), admitScript, keys...)
	c.add(known.epoch, known.seq, h.Lease.Microseconds(), w.takes, w.tasksFor(h), flag(w.terms.Shadow), h.ID, holdText(h),
		today.dayText, today.monthText, today.startText, l.name(), l.Most[limit.StockTasks], p.unitCount, p.fieldCount)
	for i, unit := range p.units {
		c.add(h.Amounts[unit], p.quotas[2*i], p.quotas[2*i+1], l.Most[unit])
	}
	c.add(p.names(today.Day)...)
	for i := range p.rates {
		rate := &p.rates[i]
		c.add(rate.text, limit.Taking(rate.rate, h.Amounts[rate.unit]), rate.fullText, rate.ttl)
	}
	if r.Cluster { // one slow node would hold up what is asked of the others
		r.send(ctx, c)
	} else {
		r.admissions.process(ctx, c)
	}
	length := 7 + len(p.rates) + len(p.cells)
	if took := length + len(p.units) + 1; len(c.reply.Val()) == 1+took {
		length = took
	}
	in, err := r.said(c, length)
	if err != nil { // the client may still use the call
		return s, err
	}
	clear(c.args)
	c.reply = nil
	calls.Put(c)
	return p.read(in), nil
}

// tasksFor is the limit of open tasks for a hold, as admit.lua takes it.
func (w *wiredTerms) tasksFor(h *limit.Hold) any {
	if !h.Task {
		return ""
	}
	return w.terms.Tasks
}

// read reads the reply of admit.lua. What it lacks is 0.
func (p *plan) read(in []int64) (s standing) {
	s.Outcome, s.version, s.At = limit.Outcome(in[0]), version{in[1], in[3]}, time.UnixMicro(in[2]).UTC()
	s.Date = limit.CalendarOf(s.At)
	s.Fault, s.Wait = p.limit(int(in[4])), micros(in[5])
	in = in[6:]
	for i := range p.rates {
		rate := &p.rates[i]
		s.Rates[rate.unit] = limit.FillOf(rate.rate, in[i])
	}
	in = in[len(p.rates):]
	s.Tasks = in[0]
	for i, c := range p.cells {
		switch c.of {
		case cellHeld:
			s.Held[c.quota] = in[1+i]
		case cellUsed:
			s.Used[c.quota] = in[1+i]
			s.hasUsed |= 1 << c.quota
		}
	}
	if took := in[1+len(p.cells):]; len(took) > 0 {
		for i, unit := range p.units {
			s.took[unit] = took[i]
		}
		s.took[limit.StockTasks] = took[len(p.units)]
	}
	return s
}

// limit is the number of the limit that admit.lua finds at fault.
func (p *plan) limit(fault int) int {
	switch {
	case fault < 0 || fault >= limit.LimitTasks:
		return fault
	case fault < limit.LimitQuotas:
		return limit.LimitRates + p.rates[fault].unit
	}
	quota := fault - limit.LimitQuotas
	return limit.LimitQuotas + 2*p.units[quota/2] + quota%2
}

// Look returns a team's state. It takes nothing.
func (r *Store) Look(ctx context.Context, team *teams.Team) (limit.State, error) {
	var s standing
	k := r.teams.Get(team.ID)
	w := k.wired(team)
	err := r.whole(ctx, team.ID, func() error {
		known := k.version()
		c := r.begin(lookScript, k.shared, 20).add(known.epoch).add(w.rates...).add(known.seq)
		r.send(ctx, c)
		var rest []int64
		var err error
		s, rest, err = r.standing(c, limit.RateCount)
		for i, full := range rest {
			if rate := w.terms.Rates[i]; rate.Limit > 0 {
				s.Rates[i] = limit.FillOf(rate, full)
			}
		}
		return err
	})
	if err == nil {
		k.record(&s)
	}
	return s.State, err
}
