package gateway_test

import (
	"testing"
	"time"

	"sluice/gateway/simulator"
)

func (h *harness) cancel(id string, headers ...string) reading {
	return h.ask("POST", tasksPath+"/"+id+"/cancel", "", headers...)
}

// A team that cancels without end is told to wait by Sluice, never by the service, and leaves the others their share.
func TestCancelsStayInsideTheAccountsRate(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.queryRate, p.sim.TaskRate = 20, 20 })
	id, shops := h.create(t), h.create(t, "Authorization", "Bearer "+h.keys["shop"])
	waits, passed := 0, 0
	for n := range 120 {
		clock.move(50 * time.Millisecond)
		for range 3 {
			switch got := h.cancel(id); {
			case got.status != 429:
				passed++
			default:
				got.wants(t, 429, "admit/account", "Throttling.RateQuota")
				waits++
			}
		}
		if n%20 == 10 {
			if got := h.cancel(shops, "Authorization", "Bearer "+h.keys["shop"]); got.status == 429 {
				t.Errorf("the other team waits: %s", got.body)
			}
		}
	}
	if passed < 70 || waits == 0 {
		t.Errorf("in 6 s %d cancels were sent and %d refused", passed, waits)
	}
}

// The query after a cancel takes the task's turn: if a query has just failed, the next poll queries, an interval later.
func TestACancelledTaskIsQueriedInTurn(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.sim.Pending = time.Hour })
	id := h.create(t)
	clock.move(6 * time.Second)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Error: &simulator.FaultError{Status: 500}})
	h.poll(id)
	h.sim.SetFault()
	if got := h.cancel(id); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if n := h.sim.Count(simulator.EndpointTask); n != 1 {
		t.Errorf("upstream was queried %d times in an interval", n)
	}
	clock.move(6 * time.Second)
	if got := h.poll(id); got.member(t, "output", "task_status") != "CANCELED" {
		t.Errorf("%s", got.body)
	}
}
