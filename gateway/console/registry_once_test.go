package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// TestACorrectionIsPostedOnce: retried under its own id after a lost reply, and never after an answer.
func TestACorrectionIsPostedOnce(t *testing.T) {
	for lost := range 2 {
		worlds(t, func(w *world) {
			w.create("maps", "")
			accounts := &numberedAccounts{Memory: w.balances, lost: lost, posted: map[string]limit.Adjustment{}}
			w.Registry.Balances = accounts
			a := operator
			a.Reason = "counted twice"
			done, err := w.Adjust(w.Context(), a, "maps", Correction{Unit: unit.NameTokens, Delta: "5"})
			if err != nil || done.Day != 5 || len(accounts.posted) != 1 || accounts.calls != lost+1 {
				t.Errorf("%d replies lost: %+v, %v; %d calls, %d posted", lost, done, err, accounts.calls, len(accounts.posted))
			}
			if e := w.entries(); len(e) != 3 || e[0].What != "usage.adjust.posted" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestAFormThatIsSentToTwoReplicasOrdersOnce: the second says that it was counted, even if a reply to the first was lost.
func TestAFormThatIsSentToTwoReplicasOrdersOnce(t *testing.T) {
	for lost := range 4 {
		worlds(t, func(w *world) {
			w.create("maps", "")
			accounts := &numberedAccounts{Memory: w.balances, lost: lost, posted: map[string]limit.Adjustment{}}
			w.Registry.Balances = accounts
			other := NewRegistry(w.RegistryDeps)
			a, by := operator, Correction{Unit: unit.NameTokens, Delta: "5", Once: "one"}
			a.Reason = "counted twice"
			_, err := w.Adjust(w.Context(), a, "maps", by)
			if lost < 2 {
				w.must(err)
			} else {
				w.refused(err, teams.CodeAway, "")
				accounts.lost = 0
			}
			if done, err := other.Adjust(w.Context(), a, "maps", by); !errors.Is(err, ErrAgain) || done.Day != 5 || len(accounts.posted) != 1 {
				t.Errorf("%d replies lost: %+v, %v; %d posted", lost, done, err, len(accounts.posted))
			}
		})
	}
}

// numberedAccounts post a correction once for its id, as Redis does, and lose the first replies.
type numberedAccounts struct {
	*limit.Memory
	lost, calls int
	posted      map[string]limit.Adjustment
}

func (n *numberedAccounts) Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error) {
	n.calls++
	done, again := n.posted[c.ID]
	if done.DayBefore, done.MonthBefore = done.Day, done.Month; !again {
		var err error
		if done, err = n.Memory.Adjust(ctx, c); err != nil {
			return done, err
		}
		n.posted[c.ID] = done
	}
	if n.calls <= n.lost {
		return limit.Adjustment{}, errors.New("lost")
	}
	return done, nil
}

// TestAFormThatIsSentTwiceOrdersOnce, as after a double click: its corrections and raises have one id. Another order of it counts.
func TestAFormThatIsSentTwiceOrdersOnce(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		a := operator
		a.Reason = "counted twice"
		for _, tt := range []struct {
			once, delta string
			day         int64
			again       error
		}{
			{"one", "5", 5, nil}, {"one", "5", 5, ErrAgain}, {"one", "5", 5, ErrAgain}, {"one", "6", 11, nil}, {"two", "5", 16, nil},
			{"", "5", 21, nil}, {"", "5", 26, nil},
		} {
			done, err := w.Adjust(w.Context(), a, "maps", Correction{Unit: unit.NameTokens, Delta: tt.delta, Once: tt.once})
			if !errors.Is(err, tt.again) || done.Day != tt.day {
				w.Errorf("%q %s: the day has %d, %v, want %d", tt.once, tt.delta, done.Day, err, tt.day)
			}
		}
		for _, tt := range []struct {
			once, amount string
			raises       int
			again        error
		}{{"one", "5", 1, nil}, {"one", "5", 1, ErrAgain}, {"one", "6", 2, nil}, {"two", "5", 3, nil}, {"", "5", 4, nil}, {"", "5", 5, nil}} {
			made, err := w.Registry.Raises.Add(w.Context(), a, "search",
				teams.RaiseOrder{Unit: unit.NameImages, Period: teams.PeriodDay, Amount: tt.amount, Once: tt.once})
			if ids := strings.Fields(w.raisesOf()); !errors.Is(err, tt.again) || len(ids) != tt.raises || len(made.ID) != 12 ||
				!slices.Contains(ids, made.ID) {
				w.Errorf("%q %s: %q of %q, %v, want %d", tt.once, tt.amount, made.ID, ids, err, tt.raises)
			}
		}
	})
}

// TestAFormOfAnEndedRaiseOrdersNothing: not after somebody has ended its raise, and not on the day after.
func TestAFormOfAnEndedRaiseOrdersNothing(t *testing.T) {
	worlds(t, func(w *world) {
		a, midnight := operator, noon.Add(12*time.Hour)
		a.Reason = "launch"
		order := teams.RaiseOrder{Unit: unit.NameImages, Period: teams.PeriodDay, Amount: "5", Until: &midnight, Once: "one"}
		made, err := w.Registry.Raises.Add(w.Context(), a, "search", order)
		w.must(err)
		w.must(w.Registry.Raises.End(w.Context(), a, "search", made.ID))
		if _, err := w.Registry.Raises.Add(w.Context(), a, "search", order); !errors.Is(err, ErrAgain) || w.raisesOf() != "" {
			w.Errorf("after its end: %v, in force %q", err, w.raisesOf())
		}
		w.refused(w.Registry.Raises.End(w.Context(), a, "search", made.ID), teams.CodeMissing, "raise")
		w.now = noon.Add(24 * time.Hour)
		_, err = w.Registry.Raises.Add(w.Context(), a, "search", order)
		w.refused(err, teams.CodeUnfit, "until")
		order.Until = nil
		next, err := w.Registry.Raises.Add(w.Context(), a, "search", order)
		w.must(err)
		if next.ID == made.ID || w.raisesOf() != next.ID {
			w.Errorf("the next day's raise is %q, in force %q; the first was %q", next.ID, w.raisesOf(), made.ID)
		}
	})
}
