package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/limit"
)

// Place places a hold in all of its units, or refuses it and takes nothing, and returns the time by Redis's clock. [limit.ErrAway] and
// [limit.ErrBusy] mean that Redis was not asked. After another error it is unknown whether the hold was placed, unless [NotDone] reports
// that it was not. Place leaves out the accounts outside of the team: see [Store.PlaceAll].
func (r *Store) Place(ctx context.Context, h *limit.Hold, l *Loan) (limit.Verdict, time.Time, error) {
	v, at, err := placeAlone(ctx, r, h, l)
	if err == nil && v.Held != nil && len(h.Rated()) > 0 {
		v, err = takeRated(ctx, r, h, v)
	}
	return v, at, err
}

// Placement is a hold of a request in one of its accounts, and the result.
type Placement struct {
	Hold *limit.Hold
	Loan *Loan

	limit.Verdict // as those of Place
	At            time.Time
	Err           error
}

// PlaceAll places the holds of a request in its accounts, the team's first, in one round trip; each is placed or refused separately, as
// by Place. If one is refused, the caller gives the others back.
func (r *Store) PlaceAll(ctx context.Context, all []*Placement) {
	list, today := make(admissionGroup, len(all)), r.today.at(r.Now())
	for i, p := range all {
		if !p.Hold.Amounts.Valid() {
			all[0].Err = limit.ErrAmounts
			return
		}
		t := r.teams.Get(p.Hold.Team.ID)
		list[i] = newAdmission(t, today, p.Hold, p.Loan, t.version())
	}
	ask(ctx, r, slices.Clone(list)) // it sorts them
	refused := false
	for i, p := range all {
		if p.Err = list[i].err; errors.Is(p.Err, ErrNotDone) { // its accounts are lost: they are restored
			p.Verdict, p.At, p.Err = placeAlone(ctx, r, p.Hold, p.Loan)
		} else if p.Err == nil {
			p.Verdict, p.At = list[i].team.answered(p.Hold, p.Loan, &list[i].state), list[i].state.At
			list[i].reuse()
		}
		refused = refused || p.Err == nil && p.Held == nil
	}
	if own := all[0]; !refused && own.Err == nil && len(own.Hold.Rated()) > 0 {
		own.Verdict, own.Err = takeRated(ctx, r, own.Hold, own.Verdict)
	}
}

// placeAlone places a hold in one account.
func placeAlone(ctx context.Context, r *Store, h *limit.Hold, l *Loan) (v limit.Verdict, at time.Time, err error) {
	var s versionedState
	t := r.teams.Get(h.Team.ID)
	err = r.restoring(ctx, h.Team.ID, func() (err error) {
		s, err = r.admit(ctx, h, l, t.version())
		return err
	})
	if err != nil {
		return v, s.At, err
	}
	return t.answered(h, l, &s), s.At, nil
}

// answered records the reply to a placement, and returns the verdict.
func (t *team) answered(h *limit.Hold, l *Loan, s *versionedState) limit.Verdict {
	l.Took = s.took
	v := s.Verdict(&t.wired(h.Team, h.Key).terms, h)
	t.admitted(s, v.Held, s.At.Add(h.Lease))
	return v
}

// takeRated takes from the rates outside of the team for a hold that was placed, with the verdict v. If one refuses, the hold is given
// back.
func takeRated(ctx context.Context, r *Store, h *limit.Hold, v limit.Verdict) (limit.Verdict, error) {
	fault, wait, err := r.takeOutside(ctx, h)
	switch {
	case notAsked(err): // the account's node; the hold was placed
		return limit.Verdict{}, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // it must not match ErrAway
	case err != nil:
		return limit.Verdict{}, err
	case wait > 0:
		release := h.Release(v.Held)
		refused := v.RefuseOutside(fault, wait, h)
		if r.SettleAll(ctx, []*limit.Charge{release}, false)[0].Err != nil {
			refused.Owed = release
		}
		return refused, nil
	}
	v.Held.Outside = h.Rated()
	return v, nil
}

// admit places a hold by admit.lua.
func (r *Store) admit(ctx context.Context, h *limit.Hold, l *Loan, known version) (s versionedState, err error) {
	if !h.Amounts.Valid() {
		return s, limit.ErrAmounts
	}
	a := newAdmission(r.teams.Get(h.Team.ID), r.today.at(r.Now()), h, l, known)
	ask(ctx, r, admissionGroup{a})
	if a.err != nil { // the client may still use the admission
		return s, a.err
	}
	s = a.state
	a.reuse()
	return s, nil
}

// ask sends the admissions of one request, and waits until each has its reply or its error. It changes the list's order.
func ask(ctx context.Context, r *Store, list admissionGroup) {
	if r.Cluster { // one slow node would delay the calls of the others
		r.sendAdmissions(ctx, list)
	} else {
		r.admissions.process(ctx, list)
	}
	for _, a := range list {
		if a.err == nil {
			a.state.Made = a.made()
		}
	}
}

// reuse returns an admission to the pool.
func (a *admission) reuse() {
	*a = admission{text: a.text, lent: a.lent}
	admissions.Put(a)
}
