package tasks

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
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
