package tasks

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// A query that panics ends neither the process nor the polls: they get the last known answer, the task rests for an interval, and is
// queried again. The same holds for the finisher.
func TestAQueryThatPanicsLeavesTheLastAnswer(t *testing.T) {
	for about, ask := range map[string]func(tasks *Tasks, claim cache.Claim) Source{
		"a poll": func(tasks *Tasks, claim cache.Claim) Source {
			return tasks.Current(context.Background(), claim, telemetry.Span{}).Source
		},
		"the finisher": func(tasks *Tasks, _ cache.Claim) Source {
			tasks.Finish(context.Background())
			return Stale
		},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				var asked atomic.Int64
				tasks := New(Config{TTL: time.Hour, Interval: 10 * time.Second}, Deps{
					Now: time.Now, Claims: cache.NewClaims(time.Hour, time.Now), Queries: cache.NewQueries(20, time.Now),
					Logger: slog.New(slog.NewTextHandler(&said, nil)),
					Has:    func(string) bool { return true }, QueryRate: func(string) int { return 0 }, Full: func() map[string]bool { return nil },
					Query: func(*cache.Claim, Origin) (Reply, error) { asked.Add(1); panic("of the query") },
					Money: func() unit.Money { return unit.Nanos },
				})
				claim := cache.Claim{Team: "search", Task: "t1", Created: time.Now(), Answer: cache.Answer{Task: "t1", Status: cache.Pending}}
				if _, ok := tasks.Put(t.Context(), claim, true); !ok {
					t.Fatal("it is not the team's")
				}
				claim, _, _ = tasks.deps.Claims.Get(t.Context(), "search", "t1")
				time.Sleep(20 * time.Second)
				for range 3 {
					if got := ask(tasks, claim); got != Stale {
						t.Errorf("the answer is %s", got)
					}
				}
				if asked.Load() != 1 || !strings.Contains(said.String(), "panic=\"of the query\"") {
					t.Errorf("%d queries; the log is %s", asked.Load(), said.String())
				}
				time.Sleep(time.Minute)
				_ = ask(tasks, claim)
				if asked.Load() != 2 {
					t.Errorf("%d queries after a pause", asked.Load())
				}
			})
		})
	}
}

// An end whose charge panics, or what comes before it or after it, is charged by a later look: it does not wait for a charge that never
// comes.
func TestAnEndThatPanicsIsChargedLater(t *testing.T) {
	for _, of := range []string{"the end", "the charge", "the report"} {
		for _, after := range []time.Duration{20 * time.Second, time.Hour + time.Second} { // with a query, and without one
			t.Run(of+" after "+after.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					panics, charged := true, 0
					at := func(where string) {
						if panics && where == of {
							panics = false
							panic("of " + of)
						}
					}
					tasks := New(Config{TTL: time.Hour, Interval: 10 * time.Second}, Deps{
						Now: time.Now, Claims: cache.NewClaims(time.Hour, time.Now), Queries: cache.NewQueries(20, time.Now),
						Logger: slog.New(slog.DiscardHandler), Label: func(model string) string { return model },
						Has: func(string) bool { return true }, QueryRate: func(string) int { return 0 }, Full: func() map[string]bool { return nil },
						Money: func() unit.Money { at("the end"); return unit.Nanos },
						Cover: func(text string) string { return text }, Shown: func(account string) string { return account },
						Ended: func(string, *telemetry.Task) { at("the report") },
						Query: func(*cache.Claim, Origin) (Reply, error) {
							return Reply{Status: http.StatusOK, Body: []byte(`{"output":{"task_id":"t1","task_status":"SUCCEEDED"},` +
								`"usage":{"image_count":1}}`)}, nil
						},
						Charge: func(_ context.Context, c *limit.Charge) {
							at("the charge")
							charged++
							c.Taken(charged == 1)
						},
					})
					claim := cache.Claim{Team: "search", Task: "t1", Created: time.Now(), Answer: cache.Answer{Task: "t1", Status: cache.Pending},
						Hold: cache.Hold{ID: "h", Images: 2}}
					if _, ok := tasks.Put(t.Context(), claim, true); !ok {
						t.Fatal("it is not the team's")
					}
					time.Sleep(after)
					for range 5 {
						tasks.Finish(t.Context())
						time.Sleep(10 * time.Minute)
					}
					if panics || charged != 1 || len(tasks.unsettled.heard) != 0 {
						t.Errorf("panicked: %v, charged %d times, %d ends wait", !panics, charged, len(tasks.unsettled.heard))
					}
				})
			})
		}
	}
}
