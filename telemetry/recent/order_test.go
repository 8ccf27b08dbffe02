package recent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/telemetry/recent"
)

// The lines of a post come in any order. Those that a later post pushes out are nevertheless the oldest.
func TestALaterPostPushesOutTheOldest(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		const each = recent.MostLines / 5 * 3
		begins := clock.Now()
		for number := range 2 {
			p := &recent.Post{From: "one", Lines: make([]recent.Line, each)}
			for i := range p.Lines {
				r := done(clock, "search", fmt.Sprint(number*each+each-1-i))
				r.Time = begins.Add(time.Duration(number*each+each-1-i) * time.Millisecond)
				p.Lines[i] = recent.Line{At: r.Time, Text: strings.TrimSuffix(string(r.AppendLine(nil)), "\n")}
			}
			if err := s.Post(t.Context(), p); err != nil || !p.Kept {
				t.Fatal(err, p.Kept)
			}
		}
		for n, f := 2*each, (recent.Filter{Size: 500}); n > 2*each-recent.MostLines; {
			page := requests(t, s, f)
			for _, r := range page.Requests {
				if n--; r.ID != fmt.Sprint(n) {
					t.Fatalf("%s follows %d", r.ID, n+1)
				}
			}
			if f.Cursor = page.Next; f.Cursor == "" && n != 2*each-recent.MostLines {
				t.Fatalf("%d is the oldest", n)
			}
		}
	})
}

// TestALongRequestIsKept: it arrived before all that are kept, and ended after them. It is found by the time at which it arrived.
func TestALongRequestIsKept(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c := collector(s, clock)
		note := func(id string, took time.Duration) {
			r := done(clock, "search", id)
			r.Time, r.Duration = clock.Now().Add(-took), took
			c.Note(&r, r.AppendLine(nil))
		}
		for i := range recent.MostLines {
			note(fmt.Sprint("short", i), time.Millisecond)
			clock.Move(time.Millisecond)
		}
		arrived := clock.Now().Add(-time.Hour)
		note("long", time.Hour)
		post(t, c)
		if page := requests(t, s, recent.Filter{Size: 1}); len(page.Requests) != 1 || page.Requests[0].ID != "long" {
			t.Errorf("the last one that ended is %+v", page.Requests)
		}
		for from, want := range map[time.Time]int{arrived: 1, arrived.Add(time.Second): 0} {
			if page := requests(t, s, recent.Filter{ID: "long", From: from, To: arrived.Add(time.Minute)}); len(page.Requests) != want {
				t.Errorf("from %v: %d requests", from, len(page.Requests))
			}
		}
	})
}
