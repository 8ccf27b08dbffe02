package limit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Admit places a hold in all of its units at once, or refuses it and takes nothing. An error means that the state
// could not be asked, or was and did not say what came of it: [ErrAway] tells the first.
func (r *Redis) Admit(ctx context.Context, h *Hold) (Verdict, error) {
	t := termsOf(h.Team)
	if v, never := h.neverFits(&t); never {
		return v, nil
	}
	return r.place(ctx, h, &t)
}

// place is Admit of what may fit.
func (r *Redis) place(ctx context.Context, h *Hold, t *terms) (Verdict, error) {
	s, err := r.ask(ctx, h, t)
	if err != nil {
		return Verdict{}, err
	}
	v := s.verdict(t, h)
	if v.Held == nil {
		return v, nil
	}
	r.ownOf(h.Team.ID).placed(v.Held, s.at.Add(h.Lease))
	if len(h.Account) == 0 {
		return v, nil
	}
	fault, wait, err := r.takeAccount(ctx, h)
	switch {
	case errors.Is(err, ErrAway): // the word of another node, and not of the hold, which stands
		return Verdict{}, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // nobody must take it for that
	case err != nil:
		return Verdict{}, err
	case wait > 0:
		release := &Charge{Held: v.Held, Team: h.Team}
		refused := v.refuseAccount(fault, wait, h)
		if _, err := r.settle(ctx, release, Amounts{}, false); err != nil {
			refused.owed = release
		}
		return refused, nil
	}
	v.Held.Account = h.Account
	return v, nil
}

// ask places the hold. Where the accounts that this process knows are gone, because Redis lost its memory, what is
// known is put back first.
func (r *Redis) ask(ctx context.Context, h *Hold, t *terms) (state, error) {
	for range 3 { // other replicas restore too, each with an epoch of its own
		last, ok := r.lastState(h.Team.ID)
		epoch := int64(0)
		if ok {
			epoch = last.epoch
		}
		s, err := r.admit(ctx, h, t, epoch, newNumber())
		if err != nil {
			return s, err
		}
		if s.outcome != lost {
			if h.day == 0 { // else it tells of another day
				known := s
				known.keep(last, r.keysOf(h.Team.ID).wired(h.Team), h)
				r.known.Store(h.Team.ID, &known)
			}
			return s, nil
		}
		if err := r.restore(ctx, h.Team.ID, last); err != nil {
			return s, err
		}
	}
	return state{}, errForgets
}

// keep takes over from what was last known what an answer about a hold does not tell.
func (s *state) keep(last *state, w *wiredTerms, h *Hold) {
	if last == nil || h.ID == "" {
		return
	}
	for q := range s.used {
		if s.date.period(q) != last.date.period(q) || w.terms.quotas[q] != none {
			continue
		}
		s.used[q] = last.used[q]
		if h.Amounts[q/2] == 0 {
			s.held[q] = last.held[q]
		}
	}
}

// lastState is how a team stood when it was last asked for.
func (r *Redis) lastState(team string) (*state, bool) {
	known, _ := r.known.Load(team)
	last, ok := known.(*state)
	return last, ok
}

// Lost counts how often the accounts of a team were found gone and were put back from what this process knew.
func (r *Redis) Lost() int64 { return r.lost.Load() }

// Settle charges a hold, once, with what the request used, also where the state has lost it. It may be called again
// until it returns no error. It reports whether this call did.
func (r *Redis) Settle(ctx context.Context, c *Charge) (bool, error) {
	done, err := r.settle(ctx, c, c.Amounts.bound(), true)
	if done && err == nil && c.corrects() {
		r.correctAccount(ctx, []*Charge{c})
	}
	return done, err
}

// corrects reports whether rates of the account were taken from for the hold.
func (c *Charge) corrects() bool { return len(c.Held.Account) > 0 && !c.Held.local }

// Extend gives an open hold a new lease, counted from now by Redis's clock. One that ends sooner changes nothing.
func (r *Redis) Extend(ctx context.Context, h *Held, lease time.Duration) error {
	_, err := r.extend(ctx, h, lease)
	return err
}

// Sweep charges up to most holds of a team whose lease has ended, and says how many there were.
func (r *Redis) Sweep(ctx context.Context, team string, most int) (int, error) {
	return r.sweep(ctx, team, most)
}

// Ledger returns the rows of one team, or of all that were ever seen where team is empty, for the days, each yyyymmdd,
// in the order of reports: team, day, model, endpoint.
func (r *Redis) Ledger(ctx context.Context, team string, days []int) (rows []Row, err error) {
	teams := []string{team}
	if team == "" {
		if teams, err = r.teams(ctx); err != nil {
			return nil, err
		}
	}
	for _, team := range teams {
		some, err := r.rows(ctx, team, days, 0)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	sortRows(rows)
	return rows, nil
}

// TeamLedger returns the rows of one team for the days, as Ledger does, where they are at most so many; else [ErrRows].
func (r *Redis) TeamLedger(ctx context.Context, team string, days []int, most int) ([]Row, error) {
	rows, err := r.rows(ctx, team, days, most)
	sortRows(rows)
	return rows, err
}
