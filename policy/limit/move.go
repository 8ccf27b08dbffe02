package limit

import (
	"context"

	"sluice/policy/teams"
)

// Move is a hold's change to another account at the service, after the first one refused the work for certain. The team's hold and the
// house's stay, with no more than the new account holds: if the outcome stays unknown, all are charged alike.
type Move struct {
	From  *Held
	To    *Hold // with the amounts of From, cut to the new account's quotas
	Place *Hold // in the quotas of the new account; nil: it has none
	Back  *Held // in the quotas of the old account; nil: it has none
}

// MoveOf returns the move of a hold. to is the request's hold as it would be placed on the new account.
func MoveOf(from *Held, to *Hold) *Move {
	own := *to
	own.ID, own.Amounts, own.Text = from.ID, from.Amounts, to.Text+from.Amounts[Spend]-to.Amounts[Spend]
	m := &Move{From: from, To: &own}
	others := own.Outer()
	for i := range others {
		if id := others[i].Team.ID; isOfAccount(id) && !from.alsoIn(id) {
			m.Place = &others[i]
			own.Amounts, own.Text = m.Place.Amounts, own.Text+m.Place.Amounts[Spend]-own.Amounts[Spend]
		}
	}
	for _, o := range from.Outer {
		if isOfAccount(o.Team) && !own.in(o.Team) {
			m.Back = o
		}
	}
	return m
}

// in reports whether the hold is also placed in the account of an id outside of the teams.
func (h *Hold) in(id string) bool {
	for i := range h.counted() {
		if h.counted()[i].Document.ID == id {
			return true
		}
	}
	return false
}

// NeverFits is [Hold.NeverFits] for the limits of the new account.
func (m *Move) NeverFits() (Verdict, bool) {
	if !m.To.Amounts.Make() {
		return Verdict{}, false
	}
	return m.To.neverOutside(ScopeAccount, ScopeAccount)
}

// Done is the hold after the move. placed is the result of placing Place; nil: none.
func (m *Move) Done(placed *Held) *Held {
	moved := *m.From
	moved.Account, moved.Outside, moved.Outer, moved.Amounts = accountOf(m.To.Account), m.To.Rated(), nil, m.To.Amounts
	if placed != nil {
		moved.Outer = append(moved.Outer, placed)
	}
	for _, o := range m.From.Outer {
		if o != m.Back {
			house := *o
			house.Amounts = o.Amounts.AtMost(moved.Amounts)
			moved.Outer = append(moved.Outer, &house)
		}
	}
	return &moved
}

// Refused turns the verdict of the new account's quotas, which refuse, into the answer to the move.
func (m *Move) Refused(v Verdict) Verdict {
	for i := range m.To.counted() {
		if s := &m.To.counted()[i]; s.Document == m.Place.Team {
			v.refer(s, m.To)
		}
	}
	return v
}

// Move moves a hold to another account at the service: it takes from the rates and quotas there, and gives back what it took of the old
// one's, which MUST have done no work. Then the hold is charged under the new account. If that refuses, nothing changes. A hold MUST NOT
// move to an account on which it was before.
func (m *Memory) Move(_ context.Context, from *Held, to *Hold) (Verdict, error) {
	move := MoveOf(from, to)
	if v, never := move.NeverFits(); never {
		return v, nil
	}
	move.To.Uncounted(func(id string) { without(m, id) })
	var placed *Held
	if o := move.Place; o != nil {
		a := seeded(m, o.Team.ID)
		t := a.termsFor(o.Team, "")
		var v Verdict
		if err := verdictOf(&v, a, o, t); err != nil {
			return Verdict{}, err
		}
		if placed = v.Held; placed == nil {
			return move.Refused(v), nil
		}
	}
	if fault, wait := m.outside.move(move, 1); wait > 0 {
		if placed != nil {
			_, _ = m.settle(to.Release(placed)) // it fails only for amounts
		}
		return new(Verdict).RefuseOutside(fault, wait, to), nil
	}
	moved := move.Done(placed)
	for _, h := range append([]*Held{moved}, moved.Outer...) {
		a := m.teams.Get(h.Team)
		a.moved(h, a.termsFor(to.Release(h).Team, h.Key.Name()))
	}
	if move.Back != nil {
		_, _ = m.settle(to.Release(move.Back))
	}
	return Verdict{Held: moved}, nil
}

// moved changes the account under which a hold is charged, and gives back what it holds no longer. Its Held never changes, because others
// read it.
func (a *account) moved(h *Held, t *Terms) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := a.holds[h.ID]; was != nil && !was.expired {
		held := *was
		held.Account, held.Amounts = accountOf(h.Account), was.Amounts.AtMost(h.Amounts)
		less := held.Amounts.Minus(was.Amounts)
		held.add(&less)
		a.correct(t, &held.Held, held.Rates, &was.Amounts, &held.Amounts, a.time())
		a.holds[h.ID], a.due[was.index] = &held, &held
	}
}

func isOfAccount(id string) bool {
	_, ok := teams.AccountOfQuotas(id)
	return ok
}
