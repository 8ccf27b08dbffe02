package failover

import (
	flags "flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// inCalm are the acts of a good day.
var inCalm = []verb{asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, maintains, looks}

// inOutages are the acts while Redis keeps its memory: calls fail in every way, replicas die and stop, limits change.
var inOutages = []verb{asks, asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, passes, fares, fares, fares, arrives,
	maintains, watches, looks, dies, restarts, reads}

// inMemoryLoss adds a Redis that loses its memory, or returns to an older state.
var inMemoryLoss = []verb{asks, asks, asks, asks, settles, settles, takesOver, extends, passes, passes, passes, fares, arrives, maintains,
	dies, restarts, forgets, saves, saves, rollsBack, rollsBack}

// TestNoHistoryPassesALimit plays random stories of replicas, the world, and a Redis that stalls, forgets and goes back. However they
// end, no team was admitted more than its limits, and after recovery the accounts match upstream's work. For ten thousand
// stories of each kind: LONG=1 go test -timeout 3h -run TestNoHistoryPassesALimit ./policy/limit/failover. With -short: a
// quarter of what it plays without.
func TestNoHistoryPassesALimit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // goroutines are scheduled the same way each time a story is played
	collectSeldom(t)
	for _, tt := range []struct {
		about  string
		menu   []verb
		checks int
	}{
		{"calm", inCalm, 40},
		{"outages", inOutages, 100},
		{"memory loss", inMemoryLoss, 60},
	} {
		t.Run(tt.about, func(t *testing.T) {
			if os.Getenv("LONG") != "" {
				tt.checks = 10_000
			} else {
				unlessTold(t, "rapid.seed", "20261122") // the same histories each time
			}
			if testing.Short() {
				tt.checks /= 4
			}
			unlessTold(t, "rapid.checks", fmt.Sprint(tt.checks))
			unlessTold(t, "rapid.shrinktime", "2s")
			var failing *story
			var why failure
			defer func() {
				if failing == nil {
					return
				}
				s := failing.shrink(t, why, 20*time.Second)
				why, seen := s.play(t)
				t.Error(s.report(why, seen))
			}()
			drawn := stories(tt.menu...)
			rapid.Check(t, func(rt *rapid.T) {
				s := drawn.Draw(rt, "story")
				if now, _ := s.play(t); now != "" {
					failing, why = &s, now
					rt.Fatal(now)
				}
			})
		})
	}
}

// collectSeldom makes garbage of a test live longer: Redis's double makes a lot for each call.
func collectSeldom(t *testing.T) {
	t.Helper()
	const percent = 400
	before := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// unlessTold sets a flag of rapid for a test, unless its caller set it.
func unlessTold(t *testing.T, name, value string) {
	t.Helper()
	for _, arg := range os.Args {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), name) {
			return
		}
	}
	before := flags.Lookup(name).Value.String()
	if err := flags.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flags.Set(name, before) })
}
