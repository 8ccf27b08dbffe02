package outbox

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

// BenchmarkAppend writes events for one hook, each of which was tried once: while there are few, and at the bound of an owner, where each
// drops another. Redis's own time is that of the script, without the network. The bound is 100,000 with LONG=1, else 2,000.
func BenchmarkAppend(b *testing.B) {
	most := 2000
	if os.Getenv("LONG") == "1" {
		most = event.DefaultBounds.Most
	}
	for _, kept := range []int{0, most} {
		for _, size := range []int{600, event.LongestEnding} {
			b.Run(fmt.Sprintf("kept=%d,bytes=%d", kept, size), func(b *testing.B) {
				client := limittest.RealRedis(b)
				o := New(client, event.Bounds{Keep: event.DefaultBounds.Keep, Most: most})
				d := &event.Draft{
					Type: event.TaskSucceeded, Team: "search", Data: []byte(`"` + strings.Repeat("a", size-2) + `"`),
					To: []event.Target{{Address: event.Address{Owner: "search", Hook: "jobs"}}},
				}
				write := func() {
					id, err := o.Append(b.Context(), d)
					if err == nil {
						err = o.Tried(b.Context(), &event.Delivery{Event: event.Event{ID: id}, To: d.To[0].Address, State: event.Waiting, Tries: 1,
							Code: 503}, time.Hour)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				for range kept {
					write()
				}
				calls, took := limittest.ScriptTime(b, client)
				for b.Loop() {
					if _, err := o.Append(b.Context(), d); err != nil {
						b.Fatal(err)
					}
				}
				n, end := limittest.ScriptTime(b, client)
				b.ReportMetric((end-took)/(n-calls), "script-µs/op")
			})
		}
	}
}
