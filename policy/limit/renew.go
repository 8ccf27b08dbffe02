package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const (
	renewEvery = 10 * time.Second // the allowances of a team,
	renewLeast = 30 * time.Second // or as late as this, where that would change little
	renewShort = time.Second      // where little is left, or something was spent that Redis was not told
	// renewPart is how much little is: an allowance differs from the size that it is to have by one part in so many at most.
	renewPart = 4
	// driftPart is by how much a process's clock may run slower than Redis's while an allowance is spent: one part in so many.
	driftPart = 100
)

// renewAll reports what was spent here, and renews the allowances, of every team for which it is time.
func (s *Shared) renewAll(ctx context.Context) error {
	now := s.Now()
	var due []*renewal
	var errs error
	s.teams.each(func(id string, b *books) {
		r := s.renewal(id, b, now)
		if r != nil && b.met.Load() == 0 { // no request of it came through yet
			if err := s.call(ctx, func(ctx context.Context) error { return s.meet(ctx, id, b) }); err != nil {
				errs = errors.Join(errs, err)
				return
			}
		}
		if r != nil {
			due = append(due, r)
		}
	})
	return errors.Join(errs, s.renew(ctx, due, true))
}

// renew makes renewals in pipelines, and notes what came of each. With again, those whose accounts are gone are made again once
// these are put back.
func (s *Shared) renew(ctx context.Context, due []*renewal, again bool) (errs error) {
	const together = 100 // so that one call keeps Redis from nobody
	var gone []*renewal
	for len(due) > 0 && ctx.Err() == nil {
		n := min(together, len(due))
		now := s.Now()
		errs = errors.Join(errs, s.call(ctx, func(ctx context.Context) error { return s.Redis.renew(ctx, due[:n]) }))
		for _, r := range due[:n] {
			switch {
			case r.err == nil:
				s.acknowledged(r, now)
			case errors.Is(r.err, errNotDone) && again:
				gone = append(gone, r)
			}
		}
		due = due[n:]
	}
	var back []*renewal
	for _, r := range gone {
		id := r.team.ID
		if err := s.call(ctx, func(ctx context.Context) error { return s.Redis.restore(ctx, id, memory{}) }); err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		b := s.teams.get(id)
		b.again()
		if r := s.renewal(id, b, s.Now()); r != nil {
			back = append(back, r)
		}
	}
	if len(back) > 0 {
		errs = errors.Join(errs, s.renew(ctx, back, false))
	}
	return errs
}

// renewal says what Redis is to be told of a team, and asked for it. It is nil where it is not time.
func (s *Shared) renewal(id string, b *books, now time.Time) *renewal {
	b.mu.Lock()
	defer b.mu.Unlock()
	every := renewEvery
	if b.short || len(b.allowances) == 0 {
		every = renewShort
	}
	idle := now.Sub(b.seen) > allowanceIdle
	if b.team == nil || now.Sub(b.asked) < every-every/10 && !b.unreported() {
		return nil
	}
	t := termsOf(b.team)
	if (idle || s.Refuse || !t.counts()) && !b.unreported() && len(b.allowances) == 0 {
		return nil
	}
	b.asked = now
	days := s.days(now)
	r := &renewal{team: b.team, terms: t, replica: s.id, now: now, alive: max(s.Alive(), 1), lease: s.Bridge, idle: idle, spent: b.rated}
	r.rated = b.rated.atMost(s.rates.missing(b.team.ID)) // what was taken longer ago has refilled
	size := s.sizes(b, r, idle, now)
	if b.serves(size, days, now) {
		return nil
	}
	b.compose(r, s.id, size, days, now)
	return r
}

// serves reports whether a renewal would change little: Redis has told how the team stands of late, and its allowances are
// nearly as large as they are to be. The lock is held.
func (b *books) serves(size func(calendar) stock, days []calendar, now time.Time) bool {
	if b.short || b.unreported() || now.Sub(b.told) > renewEvery || now.Sub(b.renewed) > renewLeast-renewEvery || len(b.allowances) != len(days) {
		return false
	}
	for _, c := range days {
		a := b.on(c.day)
		if a == nil {
			return false
		}
		want, has := size(c), a.left.plus(a.lent)
		for i, n := range want {
			if has[i] < n-n/renewPart || has[i] > n+n/renewPart {
				return false
			}
		}
	}
	return true
}

// days are the days of which allowances are wanted: today, and tomorrow where a lease reaches into it.
func (s *Shared) days(now time.Time) []calendar {
	today := s.dated(now)
	days := []calendar{today}
	if next := s.dated(now.Add(s.Bridge)); next.day != today.day {
		days = append(days, next)
	}
	return days
}

// sizes is how large the allowances are to be on each day.
func (s *Shared) sizes(b *books, r *renewal, idle bool, now time.Time) func(c calendar) stock {
	return func(c calendar) stock {
		if s.Refuse || idle {
			return stock{}
		}
		last := s.lastKnown(b.team.ID, now)
		if c.day != last.date.day { // nothing is used of a day to come
			for q := 0; q < quotaCount; q += 2 {
				last.used[q], last.held[q] = 0, 0
			}
		}
		return allowanceSize(leftOf(&r.terms, &last), b.recent.sum(now), r.alive)
	}
}

// compose writes down what a renewal tells and asks for. The lock is held.
func (b *books) compose(r *renewal, replica string, size func(calendar) stock, days []calendar, now time.Time) {
	for _, c := range days {
		if b.on(c.day) == nil {
			b.allowances = append(b.allowances, &allowance{day: c.day, field: replica + ":" + strconv.Itoa(c.day)})
		}
	}
	for _, a := range b.allowances {
		a.terms = &r.terms
		var want stock // nothing of a day that is over
		for i := range days {
			if days[i].day == a.day {
				want = size(days[i])
			}
		}
		kept := a.keep(want, now)
		r.rows = append(r.rows, renewalRow{of: a, keep: kept.plus(b.owed(a)), want: want.minus(kept).atMost(want)})
	}
	b.calls++
	r.call = b.calls
	for _, s := range b.running {
		s.byID = true
		r.running = append(r.running, placing{s, s.due})
	}
}

// acknowledged notes that Redis has taken a renewal, which was sent at a moment.
func (s *Shared) acknowledged(r *renewal, sent time.Time) {
	b, o := s.teams.get(r.team.ID), s.Redis.own.get(r.team.ID)
	if !o.restoring.try() { // what is being put back was read before this
		b.again()
		return
	}
	defer o.restoring.end()
	if o.witness().epoch != r.epoch {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told, b.renewed, b.rated = sent, sent, b.rated.minus(r.spent)
	for _, run := range r.running {
		if b.running[run.held.ID] != run.spent { // Redis has settled it meanwhile
			continue
		}
		delete(b.running, run.held.ID)
		o.placed(run.held, r.at.Add(run.due.Sub(sent)))
		if longer := run.spent.due; longer.After(run.due) { // it was extended meanwhile
			s.queue.keep(job{extend: run.held, lease: longer.Sub(sent)})
		}
	}
	until := sent.Add(s.Bridge - s.Bridge/driftPart - time.Second)
	kept := b.allowances[:0]
	for _, a := range b.allowances {
		for i := range r.rows {
			if row := &r.rows[i]; row.of == a {
				a.left, a.until = a.left.plus(row.grown), until
			}
		}
		if a.left != (stock{}) || a.lent != (stock{}) || b.owed(a) != (stock{}) || !r.idle && a.day >= s.dated(sent).day {
			kept = append(kept, a)
		}
	}
	b.allowances, b.short = kept, r.short
	s.ahead.Store(int64(r.at.Sub(sent)))
}

// again has the allowances renewed as soon as that can be.
func (b *books) again() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.renewed = time.Time{}, time.Time{}
}

// leave reports what was spent here, and gives all allowances back.
func (s *Shared) leave(ctx context.Context) (errs error) {
	var all []*renewal
	now := s.Now()
	s.teams.each(func(id string, b *books) {
		b.mu.Lock()
		b.asked, b.seen = time.Time{}, time.Time{}
		b.mu.Unlock()
		if r := s.renewal(id, b, now); r != nil {
			all = append(all, r)
		}
	})
	failed := s.renew(ctx, all, true)
	if failed == nil {
		failed = errNotDone
	}
	for _, r := range all {
		if s.teams.get(r.team.ID).spending() {
			errs = errors.Join(errs, fmt.Errorf("team %s: what it spent without Redis is not reported: %w", r.team.ID, failed))
		}
	}
	return errs
}
