package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Place places a hold in all of its units, or refuses it and takes nothing, and returns the time by Redis's clock. After
// [limit.ErrAway] and [limit.ErrBusy] Redis was not asked; after another error it is not known whether the hold was placed,
// unless [NotDone] reports that it was not.
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
	v := s.Verdict(&t.wired(h.Team, h.Key).terms, h)
	t.admitted(&s, v.Held, s.At.Add(h.Lease))
	if v.Held == nil || len(h.Outside) == 0 {
		return v, s.At, nil
	}
	fault, wait, err := r.takeOutside(ctx, h)
	switch {
	case notAsked(err): // the account's node; the hold was placed
		return limit.Verdict{}, s.At, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // it must not be taken for ErrAway
	case err != nil:
		return limit.Verdict{}, s.At, err
	case wait > 0:
		release := &limit.Charge{Held: v.Held, Team: h.Team}
		refused := v.RefuseOutside(fault, wait, h)
		if r.SettleAll(ctx, []*limit.Charge{release}, false)[0].Err != nil {
			refused.Owed = release
		}
		return refused, s.At, nil
	}
	v.Held.Outside = h.Outside
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

// admit places a hold by admit.lua.
func (r *Store) admit(ctx context.Context, h *limit.Hold, l *Loan, known version) (s standing, err error) {
	if !h.Amounts.Valid() {
		return s, limit.ErrAmounts
	}
	a := newAdmission(r.teams.Get(h.Team.ID), r.today.at(r.Now()), h, l, known)
	if r.Cluster { // one slow node would delay the calls of the others
		r.sendAdmissions(ctx, []*admission{a})
	} else {
		r.admissions.process(ctx, a)
	}
	if a.err != nil { // the client may still use it
		return s, a.err
	}
	s = a.state
	*a = admission{text: a.text, lent: a.lent}
	admissions.Put(a)
	return s, nil
}

// Look returns a team's state. It takes nothing.
func (r *Store) Look(ctx context.Context, team *teams.Team) (s limit.State, err error) {
	w := r.teams.Get(team.ID).wired(team, "")
	err = lookRates(ctx, r, team.ID, w.ratesOf(false), func(now *standing, in *reply) {
		for i := range w.rates {
			now.Rates[w.rates[i].Unit-1] = limit.FillOf(w.rates[i].rate, in.next())
		}
		s = now.State
	})
	return s, err
}

// lookRates reads a team's state, and how long each of some rates of its accounts takes to be full. It takes nothing.
func lookRates(ctx context.Context, r *Store, team string, rates []rateArgs, more func(*standing, *reply)) error {
	var s standing
	k := r.teams.Get(team)
	err := r.whole(ctx, team, func() (err error) {
		c := r.begin(lookScript, struct {
			knownArgs
			Rates []rateArgs `json:"rates"`
		}{k.version().args(), rates}, k.key)
		r.send(ctx, c)
		s, err = r.standing(c, more)
		return err
	})
	if err == nil {
		k.record(&s)
	}
	return err
}
