package limit

import (
	"context"
)

// Admit places a hold in all of its units at once, or refuses it and takes nothing. The error is about the state, never
// about the team.
func (m *Memory) Admit(_ context.Context, h *Hold) (Verdict, error) {
	a := m.account(h.Team.ID)
	t := a.termsOf(h.Team)
	if fault, never := h.never(t); never {
		return Verdict{Reason: ReasonNever, Fault: fault, Asked: h.asked(&fault)}, nil
	}
	s, err := a.admit(h, t)
	if err != nil {
		return Verdict{}, err
	}
	v := s.Verdict(t, h)
	if v.Held == nil || len(h.Account) == 0 {
		return v, nil
	}
	if fault, wait := m.takeAccount(h, false, 1); wait > 0 {
		_, err := a.settle(&Charge{Held: v.Held}, t) // it was never sent
		return v.RefuseAccount(fault, wait, h), err
	}
	taken := *v.Held // the one in the accounts never changes
	taken.Account = h.Account
	v.Held = &taken
	return v, nil
}

// Settle charges a hold, once, with what the request used. It reports whether this call did.
func (m *Memory) Settle(_ context.Context, c *Charge) (bool, error) {
	a := m.account(c.Held.Team)
	done, err := a.settle(&Charge{Held: c.Held, Team: c.Team, Amounts: c.Amounts.Bound(), Estimated: c.Estimated}, a.termsOf(c.Team))
	if done && len(c.Held.Account) > 0 {
		m.correctAccount(c, 1)
	}
	if err == nil {
		c.Tell(done)
	}
	return done, err
}

// SettleLater settles a hold. In memory that takes no time, so it is done at once.
func (m *Memory) SettleLater(c *Charge) { _, _ = m.Settle(context.Background(), c) }

// Maintain charges the holds whose lease has ended, of all teams, and counts those that are open.
func (m *Memory) Maintain(ctx context.Context) error {
	for team := range m.accounts(nil) {
		if _, err := m.Sweep(ctx, team, tendBatch); err != nil {
			return err
		}
	}
	m.countOpen()
	return nil
}

// tendBatch is how many holds of one team are charged at a time while no request waits.
const tendBatch = 1000

// Close does nothing: the accounts end with the process.
func (m *Memory) Close(context.Context) error { return nil }

// asked returns how much a hold takes of the unit of a limit.
func (h *Hold) asked(s *Standing) int64 { return h.Amounts[UnitIndex(s.Unit)] }
