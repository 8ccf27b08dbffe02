package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"sluice/policy/limit"
)

// A request that may wait does so for an account whose rate is spent, although it is not known whether another one has room.
func TestAFullAccountIsWaitedForBesideOneThatIsNotKnown(t *testing.T) {
	parallel(t)
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b, rates: [{requests: {per: 2s, limit: 1}}]"}, func(p *plan) {
		p.balances = unsure{limit.NewMemory(p.now), "a"}
	})
	h.asks(1)
	h.served()
	waits := h.later("POST", textPath, textBody, "Prefer", "wait=40")
	h.awaitWaiting("search", 1)
	clock.move(3 * time.Second)
	if got := inTime(t, waits); got.status != http.StatusOK || h.served() != "b:1" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
