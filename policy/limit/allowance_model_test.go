package limit

import (
	flags "flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// inCalm is what happens on a good day.
var inCalm = []verb{asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, tends, looks}

// inOutages is what happens while Redis keeps its memory: calls fail in every way, replicas die and stop, limits change.
var inOutages = []verb{asks, asks, asks, asks, settles, settles, takesOver, repeats, extends, passes, passes, fares, fares, fares, arrives, tends, looks, dies, restarts, reads}

// inMemoryLoss is that, and a Redis that forgets.
var inMemoryLoss = []verb{asks, asks, asks, asks, settles, settles, takesOver, extends, passes, passes, passes, fares, arrives, tends, dies, restarts, forgets, saves, saves, rollsBack, rollsBack}

// TestAllowance5: replicas, a Redis that stalls, forgets and goes back, and the world, through random histories. However they
// end, no team was admitted more than its limits, and once all is well the accounts are what upstream did. Ten thousand
// histories of each kind are LONG=1 go test -timeout 2h -run Allowance5 ./policy/limit.
func TestAllowance5(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // goroutines take turns the same way each time a history is told
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
			withChecks(t, tt.checks)
			drawn := stories(tt.menu...)
			rapid.Check(t, func(rt *rapid.T) {
				s := drawn.Draw(rt, "story")
				rapid.SyncTest(rt, func(rt *rapid.T) {
					w := newWorld(rt, s)
					defer w.close()
					w.run()
					w.heal()
				})
			})
		})
	}
}

// withChecks sets how many histories a test tries, unless its caller says -rapid.checks.
func withChecks(t *testing.T, n int) {
	t.Helper()
	if os.Getenv("LONG") != "" {
		n = 10_000
	}
	asked := false
	flags.Visit(func(f *flags.Flag) { asked = asked || f.Name == "rapid.checks" })
	if asked {
		return
	}
	before := flags.Lookup("rapid.checks").Value.String()
	if err := flags.Set("rapid.checks", fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flags.Set("rapid.checks", before) })
}
