package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Two replicas may learn of a task's end. The request that learned of it second reports no cost: the task is charged once.
func TestAnEndThatWasChargedBeforeIsNotReported(t *testing.T) {
	for _, first := range []bool{true, false} {
		tasks := New(Config{TTL: time.Hour, Interval: time.Second}, Deps{
			Now: time.Now, Claims: cache.NewClaims(time.Hour, time.Now), Logger: slog.New(slog.DiscardHandler),
			Charge: func(_ context.Context, c *limit.Charge) { c.Taken(first) },
			Label:  func(model string) string { return model }, Money: func() unit.Money { return unit.Nanos },
			Cover: func(text string) string { return text }, Shown: func(account string) string { return account },
		})
		answer := cache.Answer{Task: "t1", Status: cache.Succeeded}
		claim := cache.Claim{Team: "search", Task: "t1", Created: time.Now(), Answer: cache.Answer{Task: "t1", Status: cache.Pending},
			Hold: cache.Hold{ID: "h", Images: 2}}
		if end, ok := tasks.Put(t.Context(), claim, true); end != nil || !ok {
			t.Fatalf("it has ended: %+v, %v", end, ok)
		}
		ended, end := tasks.settle(t.Context(), heardEnd{claim, answer, []byte(`{"output":{"task_id":"t1","task_status":"SUCCEEDED"}}`), 1,
			ByPoll})
		if (end != nil) != first || ended.Answer.Status != cache.Succeeded {
			t.Errorf("charged for the first time: %v; reported as %+v", first, end)
		}
	}
}

// A task of a forwarded path costs its request, whatever it made: nothing about that is estimated. A task of ours whose pictures the
// service did not count costs what was held, which is.
func TestTheCostOfAForwardedTaskIsNoEstimate(t *testing.T) {
	for endpoint, want := range map[policy.Endpoint]bool{policy.EndpointOther: false, policy.EndpointImage: true} {
		claim := cache.Claim{
			Task: "t1", Answer: cache.Answer{Task: "t1", Status: cache.Succeeded},
			Body: []byte(`{"output":{"task_id":"t1","task_status":"SUCCEEDED"}}`), Hold: cache.Hold{ID: "h", Endpoint: string(endpoint), Images: 3},
		}
		cost, estimated, ended := Settled(&claim)
		if images := int64(3); !ended || estimated != want || (cost[limit.Images] == images) != want {
			t.Errorf("%s: %+v, estimated: %v, ended: %v", endpoint, cost, estimated, ended)
		}
	}
}

// The number of ends that wait for their charges is bounded; an end without room is learned again.
func TestEndsAreBounded(t *testing.T) {
	u := unsettled{most: mostUnsettled, heard: make(map[taskName]cache.Claim)}
	for n := range mostUnsettled + 1 {
		if !u.add(&cache.Claim{Team: "search", Task: fmt.Sprint(n)}) {
			t.Fatalf("end %d counts as kept", n)
		}
	}
	_, first := u.of("search", "0")
	_, last := u.of("search", fmt.Sprint(mostUnsettled))
	if len(u.heard) != 10_000 || !first || last {
		t.Errorf("%d ends are kept, the first %t, the last %t", len(u.heard), first, last)
	}
}
