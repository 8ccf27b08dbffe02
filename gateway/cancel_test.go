package gateway_test

import (
	"errors"
	"testing"
	"time"

	"sluice/gateway"
	"sluice/gateway/simulator"
)

func (h *harness) cancel(id string, headers ...string) reading {
	return h.ask("POST", tasksPath+"/"+id+"/cancel", "", headers...)
}

// Every 429 and 503 says when to try again, also if the service does not; other answers of the service say what it says.
func TestRetryAfterIsOnEveryRefusalOfTheService(t *testing.T) {
	h, _ := tasked(t, func(p *plan) { p.config.OpenAI = true })
	id := h.create(t)
	for status, waits := range map[int]bool{429: true, 503: true, 500: false, 400: false} {
		h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Code: "Odd", Status: status}})
		for about, got := range map[string]reading{
			"text": h.ask("POST", textPath, textBody), "image": h.ask("POST", imagePath, imageBody, async...),
			"chat": h.ask("POST", frontChats, frontChat), "cancel": h.cancel(id),
		} {
			if after := got.header.Get("Retry-After"); got.status != status || (after == "1" || after == "2") != waits || !waits && after != "" {
				t.Errorf("%s: %d, Retry-After %q", about, got.status, after)
			}
		}
	}
}

// A team that cancels without end is limited by Sluice, never by the service, and leaves the others their share.
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

// An operator cancels a team's task as the team itself does: the task ends, and its hold is settled. A task that has begun is not
// cancelled, and another team's is not found.
func TestCancelForAnOperator(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.sim.Pending = time.Hour })
	id, ctx := h.create(t), t.Context()
	for team, want := range map[string]bool{"search": true, "shop": false} {
		if has, err := h.gateway.HasTask(ctx, team, id); has != want || err != nil {
			t.Errorf("%s has it: %v, %v", team, has, err)
		}
	}
	if err := h.gateway.CancelTask(ctx, "shop", id); !errors.Is(err, gateway.ErrNoTask) {
		t.Errorf("another team's: %v", err)
	}
	if err := h.gateway.CancelTask(ctx, "search", id); err != nil {
		t.Error(err)
	}
	clock.move(6 * time.Second)
	if got := h.poll(id); got.member(t, "output", "task_status") != "CANCELED" {
		t.Errorf("%s", got.body)
	}
	if open, err := h.balances.Open(ctx, "search"); open != 0 || err != nil {
		t.Errorf("%d holds are open, %v", open, err)
	}
	if err := h.gateway.CancelTask(ctx, "search", id); !errors.Is(err, gateway.ErrNoCancel) {
		t.Errorf("a cancelled task: %v", err)
	}
}

// Cancels of operators are within the account's rate of cancels.
func TestCancelForAnOperatorIsWithinTheRate(t *testing.T) {
	h, _ := tasked(t, func(p *plan) { p.queryRate = 1 })
	id := h.create(t)
	for range 5 {
		if errors.Is(h.gateway.CancelTask(t.Context(), "search", id), gateway.ErrCancelRate) {
			return
		}
	}
	t.Error("five cancels at once were sent")
}
