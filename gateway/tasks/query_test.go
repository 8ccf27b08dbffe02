package tasks

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// allowing decides whether a task may be queried.
type allowing func() (bool, error)

func (a allowing) Allow(context.Context, cache.Wish) (bool, error) { return a() }

// querying returns what follows tasks with an interval of a minute. Each query has that answer of the service and is counted; each charge
// is counted, too.
func querying(allow allowing, answer string, queries, charges *int) *Tasks {
	return New(Config{TTL: time.Hour, Interval: time.Minute}, Deps{
		Now: time.Now, Claims: cache.NewClaims(time.Hour, time.Now), Queries: allow, Logger: slog.New(slog.DiscardHandler),
		Has: func(string) bool { return true }, QueryRate: func(string) int { return 0 }, Full: func() map[string]bool { return nil },
		Query: func(*cache.Claim, Origin) (Reply, error) {
			*queries++
			return Reply{Status: http.StatusOK, Body: []byte(answer)}, nil
		},
		Charge: func(_ context.Context, c *limit.Charge) { *charges++; c.Taken(true) },
		Alarm:  func(string, string, string) {}, Label: func(model string) string { return model },
		Money: func() unit.Money { return unit.Nanos }, Cover: func(text string) string { return text },
		Shown: func(account string) string { return account },
	})
}

// claimed claims a task that was created that long ago.
func claimed(t *testing.T, tasks *Tasks, task string, before time.Duration) cache.Claim {
	t.Helper()
	claim := cache.Claim{Team: "search", Task: task, Created: time.Now(), Answer: cache.Answer{Task: task, Status: cache.Pending},
		Hold: cache.Hold{ID: "h-" + task, Images: 2}}
	if _, ok := tasks.Put(t.Context(), claim, true); !ok {
		t.Fatal("it is not the team's")
	}
	time.Sleep(before)
	claim, _, _ = tasks.deps.Claims.Get(t.Context(), "search", task)
	return claim
}

// An answer that names another task says nothing about this one: it is neither told nor kept, and nothing is charged by it.
func TestAnAnswerAboutAnotherTaskChangesNothing(t *testing.T) {
	for _, status := range []string{"RUNNING", "SUCCEEDED"} {
		synctest.Test(t, func(t *testing.T) {
			var queries, charges int
			tasks := querying(func() (bool, error) { return true, nil },
				`{"output":{"task_id":"t2","task_status":"`+status+`"},"usage":{"image_count":9}}`, &queries, &charges)
			claim := claimed(t, tasks, "t1", 2*time.Minute)
			got := tasks.Current(t.Context(), claim, telemetry.Span{})
			kept, _, _ := tasks.deps.Claims.Get(t.Context(), "search", "t1")
			if got.Source != Stale || got.Claim.Answer.Status != cache.Pending || kept.Answer.Status != cache.Pending || queries != 1 ||
				charges != 0 {
				t.Errorf("%s: the poll gets %s %+v, %+v is kept; %d queries, %d charges", status, got.Source, got.Claim.Answer, kept.Answer, queries,
					charges)
			}
		})
	}
}

// A task for which the rate of its account has no query left is due again in a moment, not after an interval. It is after one if the rate
// is not known.
func TestATaskWithoutAQueryLeftIsSoonDueAgain(t *testing.T) {
	for about, of := range map[string]struct {
		away error
		due  time.Duration
	}{
		"no query is left":      {nil, finishAgain},
		"the rate is not known": {errors.New("away"), time.Minute},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var queries, charges int
				full := true
				tasks := querying(func() (bool, error) {
					if full {
						return false, of.away
					}
					return true, nil
				}, `{"output":{"task_id":"t1","task_status":"RUNNING"}}`, &queries, &charges)
				claimed(t, tasks, "t1", 2*time.Minute)
				tasks.Finish(t.Context())
				full = false
				time.Sleep(of.due - time.Millisecond)
				if tasks.Finish(t.Context()); queries != 0 {
					t.Errorf("%d queries before it is due", queries)
				}
				time.Sleep(time.Millisecond)
				if tasks.Finish(t.Context()); queries != 1 {
					t.Errorf("%d queries once it is due", queries)
				}
			})
		})
	}
}
