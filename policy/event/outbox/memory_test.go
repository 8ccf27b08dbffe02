package outbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

// What a team's events take of Redis's memory at the bound; with LONG=1, because it writes 1.6 GB.
func TestMemoryOfATeamsEvents(t *testing.T) {
	n := 2000
	if os.Getenv("LONG") == "1" {
		n = 100_000
	}
	client := limittest.RealRedis(t)
	used := func() int {
		for line := range strings.Lines(client.Info(t.Context(), "memory").Val()) {
			if text, ok := strings.CutPrefix(line, "used_memory:"); ok {
				bytes, _ := strconv.Atoi(strings.TrimSpace(text))
				return bytes
			}
		}
		return 0
	}
	o := New(client, event.DefaultBounds)
	for _, size := range []int{600, 16 << 10} {
		before, data := used(), []byte(`"`+strings.Repeat("a", size-2)+`"`)
		for i := range n {
			d := &event.Draft{Type: event.TaskSucceeded, Team: fmt.Sprint("team", size), Data: data,
				To: []event.Target{{Address: event.Address{Owner: "t", Hook: "jobs"}}}}
			id, err := o.Append(t.Context(), d)
			if err == nil {
				err = o.Tried(t.Context(), &event.Delivery{Event: event.Event{ID: id}, To: d.To[0].Address, State: event.Waiting, Tries: 1, Code: 503},
					time.Hour)
			}
			if err != nil {
				t.Fatal(i, err)
			}
		}
		each := (used() - before) / n
		if t.Logf("%d events of %d bytes, tried once and waiting for one hook: %d MB, %d bytes each", n, size, (used()-before)>>20,
			each); each > 2*size+500 {
			t.Error("an event takes more than twice its size")
		}
	}
}
