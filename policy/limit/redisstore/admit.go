package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy/limit"
)

// Loan is what a call may take of its replica's allowance where a quota has no room for it. The zero Loan is nothing.
type Loan struct {
	Name any         // of the allowance, a text boxed once; nil: there is none
	Most limit.Stock // that may be taken
	Took limit.Stock // that was, told by place
}

func (l *Loan) name() any {
	if l.Name == nil {
		return ""
	}
	return l.Name
}

// Place places a hold in all of its units at once, or refuses it and takes nothing, and tells the time by Redis's clock. An error
// means that Redis could not be asked, or was and did not say what came of it: [ErrAway] tells the first.
func (r *Store) Place(ctx context.Context, h *limit.Hold, l *Loan) (limit.Verdict, time.Time, error) {
	s, err := r.ask(ctx, h, l)
	if err != nil {
		return limit.Verdict{}, s.At, err
	}
	l.Took = s.took
	v := s.Verdict(&r.keysOf(h.Team.ID).wired(h.Team).terms, h)
	r.own.Get(h.Team.ID).admitted(&s, v.Held, s.At.Add(h.Lease))
	if v.Held == nil || len(h.Account) == 0 {
		return v, s.At, nil
	}
	fault, wait, err := r.takeAccount(ctx, h)
	switch {
	case errors.Is(err, limit.ErrAway): // the word of another node, and not of the hold, which stands
		return limit.Verdict{}, s.At, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // nobody must take it for that
	case err != nil:
		return limit.Verdict{}, s.At, err
	case wait > 0:
		release := &limit.Charge{Held: v.Held, Team: h.Team}
		refused := v.RefuseAccount(fault, wait, h)
		if _, err := r.settle(ctx, release, limit.Amounts{}, false); err != nil {
			refused.Owed = release
		}
		return refused, s.At, nil
	}
	v.Held.Account = h.Account
	return v, s.At, nil
}

// ask places the hold, or tells how the team stands. Where the accounts that this process knows are gone, because Redis lost
// its memory, what is known is put back first.
func (r *Store) ask(ctx context.Context, h *limit.Hold, l *Loan) (standing, error) {
	for range 3 { // other replicas restore too, each with an epoch of its own
		s, err := r.admit(ctx, h, l, r.own.Get(h.Team.ID).witness())
		switch {
		case err != nil:
			return s, err
		case s.Outcome == restoring:
			return s, errRestoring
		case s.Outcome != lost:
			return s, nil
		}
		if err := r.Restore(ctx, h.Team.ID, Loss{}); err != nil {
			return s, fmt.Errorf("%w: %w", ErrNotDone, err)
		}
	}
	return standing{}, errForgets
}

// Lost counts how often the accounts of a team were found gone and were put back from what this process knew.
func (r *Store) Lost() int64 { return r.lost.Load() }

// Settle charges a hold, once, with what the request used, also where the state has lost it. It may be called again
// until it returns no error. It reports whether this call did.
func (r *Store) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	done, err := r.settle(ctx, c, c.Amounts.Bound(), true)
	if done && err == nil && corrects(c) {
		r.correctAccount(ctx, []*limit.Charge{c})
	}
	return done, err
}

// corrects reports whether rates of the account were taken from for a charge's hold.
func corrects(c *limit.Charge) bool { return len(c.Held.Account) > 0 && !c.Held.Local }

// Ledger returns the rows of one team, or of all that were ever seen where team is empty, for the days, each yyyymmdd,
// in the order of reports: team, day, model, endpoint.
func (r *Store) Ledger(ctx context.Context, team string, days []int) (rows []limit.Row, err error) {
	teams := []string{team}
	if team == "" {
		if teams, err = r.Teams(ctx); err != nil {
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
	limit.SortRows(rows)
	return rows, nil
}

// TeamLedger returns the rows of one team for the days, as Ledger does, where they are at most so many; else [ErrRows].
func (r *Store) TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error) {
	rows, err := r.rows(ctx, team, days, most)
	limit.SortRows(rows)
	return rows, err
}
