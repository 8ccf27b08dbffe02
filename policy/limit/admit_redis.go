package limit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Loan is what a call may take of its replica's allowance where a quota has no room for it. The zero Loan is nothing.
type Loan struct {
	Name any   // of the allowance, a text boxed once; nil: there is none
	Most stock // that may be taken
	Took stock // that was, told by place
}

func (l *Loan) name() any {
	if l.Name == nil {
		return ""
	}
	return l.Name
}

// place places a hold in all of its units at once, or refuses it and takes nothing, and tells the time by Redis's clock. An error
// means that Redis could not be asked, or was and did not say what came of it: [ErrAway] tells the first.
func (r *Redis) place(ctx context.Context, h *Hold, t *terms, l *Loan) (Verdict, time.Time, error) {
	s, err := r.ask(ctx, h, t, l)
	if err != nil {
		return Verdict{}, s.at, err
	}
	l.Took = s.took
	v := s.verdict(t, h)
	r.own.get(h.Team.ID).admitted(&s, v.Held, s.at.Add(h.Lease))
	if v.Held == nil || len(h.Account) == 0 {
		return v, s.at, nil
	}
	fault, wait, err := r.takeAccount(ctx, h)
	switch {
	case errors.Is(err, ErrAway): // the word of another node, and not of the hold, which stands
		return Verdict{}, s.at, fmt.Errorf("the account's rates: %v", err) //nolint:errorlint // nobody must take it for that
	case err != nil:
		return Verdict{}, s.at, err
	case wait > 0:
		release := &Charge{Held: v.Held, Team: h.Team}
		refused := v.refuseAccount(fault, wait, h)
		if _, err := r.settle(ctx, release, Amounts{}, false); err != nil {
			refused.owed = release
		}
		return refused, s.at, nil
	}
	v.Held.Account = h.Account
	return v, s.at, nil
}

// ask places the hold, or tells how the team stands. Where the accounts that this process knows are gone, because Redis lost
// its memory, what is known is put back first.
func (r *Redis) ask(ctx context.Context, h *Hold, t *terms, l *Loan) (standing, error) {
	for range 3 { // other replicas restore too, each with an epoch of its own
		s, err := r.admit(ctx, h, t, l, r.own.get(h.Team.ID).witness())
		switch {
		case err != nil:
			return s, err
		case s.outcome == restoring:
			return s, errRestoring
		case s.outcome != lost:
			return s, nil
		}
		if err := r.restore(ctx, h.Team.ID, memory{}); err != nil {
			return s, fmt.Errorf("%w: %w", errNotDone, err)
		}
	}
	return standing{}, errForgets
}

// Lost counts how often the accounts of a team were found gone and were put back from what this process knew.
func (r *Redis) Lost() int64 { return r.lost.Load() }

// Settle charges a hold, once, with what the request used, also where the state has lost it. It may be called again
// until it returns no error. It reports whether this call did.
func (r *Redis) Settle(ctx context.Context, c *Charge) (bool, error) {
	done, err := r.settle(ctx, c, c.Amounts.bound(), true)
	if done && err == nil && corrects(c) {
		r.correctAccount(ctx, []*Charge{c})
	}
	return done, err
}

// corrects reports whether rates of the account were taken from for a charge's hold.
func corrects(c *Charge) bool { return len(c.Held.Account) > 0 && !c.Held.local }

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
