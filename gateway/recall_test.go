package gateway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"sluice/cache"
	"sluice/gateway/simulator"
)

// lookups counts how often claims are looked up.
type lookups struct {
	*cache.Claims
	n atomic.Int64
}

func (l *lookups) Get(ctx context.Context, team, task string) (cache.Claim, bool, error) {
	l.n.Add(1)
	return l.Claims.Get(ctx, team, task)
}

// Guessed ids reveal nothing about other teams' tasks, and a guess costs one look-up and no query.
func TestGuessedTaskIDs(t *testing.T) {
	counted := new(lookups)
	h, _ := tasked(t, func(p *plan) {
		counted.Claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims = counted
	})
	foreign := h.create(t, "Authorization", "Bearer "+h.keys["shop"])
	guesses := []string{foreign}
	for n := range 999 {
		guesses = append(guesses, fmt.Sprintf("%s%03d", foreign[:len(foreign)-3], n), fmt.Sprint(n))
	}
	for n, id := range guesses {
		if id != foreign || n == 0 {
			h.poll(id).wants(t, 404, "recall/task", "NotFound")
		}
	}
	for _, id := range guesses[:10] {
		h.cancel(id).wants(t, 404, "recall/task", "NotFound")
	}
	if n := counted.n.Load(); n > int64(len(guesses)+10) {
		t.Errorf("%d guesses cost %d look-ups", len(guesses)+10, n)
	}
	if n := h.sim.Count(simulator.EndpointTask) + h.sim.Count(simulator.EndpointCancel); n != 0 {
		t.Errorf("%d of them reached upstream", n)
	}
}
