package failover

import (
	"context"
	"testing"
	"time"

	"sluice/policy/limit"
)

// An amount that a replica had given back before Redis returned with an older copy is not set aside again.
func TestWhatWasGivenBackIsNotSetAsideAgain(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		for _, r := range w.replicas {
			a := w.admit(r, kinds["a text"])
			w.charge(r, &request{kind: kinds["a text"], held: a.verdict.Held, by: r}, kinds["a text"].amounts, false)
		}
		w.tick(15)
		w.saved = dumpOf(w.server)
		w.tick(90)
		if n := w.count("shop", "20000115:tokens:aside"); n != 0 {
			t.Fatalf("%d tokens are set aside for an idle team", n)
		}
		w.rollBack()
		w.tick(5)
		if n := w.count("shop", "20000115:tokens:aside"); n != 0 {
			t.Errorf("%d tokens are set aside again", n)
		}
		w.pass(2 * time.Hour)
		if n := w.count("shop", "20000115:tokens:used"); n != 90 {
			t.Errorf("%d tokens are used, want 90", n)
		}
	})
}

// A correction that exceeds the use of its day survives a restore of the accounts.
func TestACorrectionIsNotUndone(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		spend := func(texts int) {
			for range texts {
				a := w.admit(r, kinds["a text"])
				w.charge(r, &request{kind: kinds["a text"], held: a.verdict.Held, by: r}, kinds["a text"].amounts, false)
			}
			w.tick(2)
		}
		spend(50)
		time.Sleep(13 * time.Hour)
		spend(1)
		if _, err := r.shared.Store.Adjust(context.Background(), limit.Correction{ID: "adj", Team: "shop", Unit: "tokens", Delta: -1000,
			Why: "why"}); err != nil {
			t.Fatal(err)
		}
		w.tick(1)
		w.saved = dumpOf(w.server)
		spend(1)
		w.rollBack()
		w.tick(10)
		all, _, _ := w.ledgerOf(1)
		used := w.count("shop", "200001:tokens:used")
		if sum := all.exact[limit.Tokens] + all.estimated[limit.Tokens]; sum != used || used != 52*30-1000 {
			t.Errorf("%d tokens are used and %d in the ledger, want 560", used, sum)
		}
	})
}
