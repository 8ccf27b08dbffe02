package gateway_test

import (
	"errors"
	"testing"
	"time"

	"sluice/gateway"
)

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
	if open, err := h.accounts.Open(ctx, "search"); open != 0 || err != nil {
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
