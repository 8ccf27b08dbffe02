package gateway_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/simulator"
)

// askedFirst remembers which teams were to go first.
type askedFirst struct {
	*cache.Claims
	teams atomic.Pointer[string]
}

func (a *askedFirst) Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error) {
	teams := strings.Join(slices.Sorted(maps.Keys(first)), ",")
	a.teams.Store(&teams)
	return a.Claims.Due(ctx, most, first)
}

// Teams that may have no more open tasks go first, whether their tasks are due or not.
func TestFullTeamsGoFirst(t *testing.T) {
	asked := new(askedFirst)
	h, clock := tasked(t, limited("open_tasks: 2"), func(p *plan) {
		asked.Claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims = asked
	})
	finish := func(about, want string) {
		t.Helper()
		h.gateway.Finish(t.Context())
		if got := *asked.teams.Load(); got != want {
			t.Errorf("%s: first go %q, want %q", about, got, want)
		}
	}
	h.create(t)
	h.create(t, "Authorization", "Bearer "+h.keys["shop"]) // which has no limit
	finish("there is room for one", "")
	h.create(t)
	finish("there is none", "search")
	finish("nothing is due", "search")
	clock.move(time.Minute)
	finish("they end", "search")
	finish("they have ended", "")
}

// A144: a full team with more tasks than there are queries, which do not end, leaves another team's task its turn.
func TestA144FullTeamsLeaveTurns(t *testing.T) {
	h, clock := tasked(t, limited("open_tasks: 300"), func(p *plan) {
		p.queryRate, p.sim.TaskRate, p.config.PollInterval = 20, 20, time.Second
	})
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: "never"}})
	for range 300 {
		h.create(t)
	}
	h.sim.SetFault()
	h.create(t, "Authorization", "Bearer "+h.keys["shop"])
	seconds := 0
	for ; seconds < 120 && h.settlements() == ""; seconds++ {
		clock.move(1100 * time.Millisecond)
		h.gateway.Finish(t.Context())
	}
	if got := h.settlements(); got != "succeeded 1" {
		t.Errorf("after two minutes %q is settled", got)
	}
	t.Logf("heard after %d s of a task that takes 11", seconds)
}
