package failover

import (
	flags "flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// inCalm is what happens on a good day.
var inCalm = []verb{asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, maintains, looks}

// inOutages is what happens while Redis keeps its memory: calls fail in every way, replicas die and stop, limits change.
var inOutages = []verb{asks, asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, passes, fares, fares, fares, arrives, maintains, watches, looks, dies, restarts, reads}

// inMemoryLoss is that, and a Redis that forgets, or goes back to what it knew before.
var inMemoryLoss = []verb{asks, asks, asks, asks, settles, settles, takesOver, extends, passes, passes, passes, fares, arrives, maintains, dies, restarts, forgets, saves, saves, rollsBack, rollsBack}

// TestAllowance5: replicas, a Redis that stalls, forgets and goes back, and the world, through random stories. However they
// end, no team was admitted more than its limits, and once all is well the accounts are what upstream did. Ten thousand
// stories of each kind are LONG=1 go test -timeout 3h -run Allowance5 ./policy/limit.
func TestAllowance5(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // goroutines take turns the same way each time a story is told
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

// unlessTold sets a flag of rapid for a test, where its caller did not.
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
