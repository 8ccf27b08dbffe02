package recent_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// down is a store that is away.
type down struct{ away bool }

func (d *down) Post(_ context.Context, p *recent.Post) error {
	if d.away {
		return errLost
	}
	for _, h := range p.Hours {
		h.Stored = true
	}
	p.Kept = true
	return nil
}

func TestMemoryIsBoundedWhileTheStoreIsAway(t *testing.T) {
	clock := limittest.NewClock()
	s := &down{away: true}
	var told []string
	c := recent.New(recent.Config{Store: s, Now: clock.Now, Failed: func(err error, dropped int64) {
		told = append(told, fmt.Sprint(err, " ", dropped))
	}})
	for range 60 {
		for team := range 1000 {
			c.Note(&telemetry.Record{Team: fmt.Sprint("team-", team)}, nil)
			c.Note(&telemetry.Record{Team: fmt.Sprint("other-", team)}, nil)
		}
		_ = c.Post(t.Context())
		clock.Move(time.Minute)
	}
	if n := c.Dropped(); n != 0 && n < 20_000 || n == 0 {
		t.Errorf("%d dropped, want more than the bound left over", n)
	}
	s.away = false
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"lost 0", fmt.Sprint("<nil> ", c.Dropped())}; fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestCloseSaysWhatIsLost(t *testing.T) {
	clock := limittest.NewClock()
	c := recent.New(recent.Config{Store: &down{away: true}, Now: clock.Now})
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("nothing waits, and Close says %v", err)
	}
	r := done(clock, "search", "1")
	c.Note(&r, r.AppendLine(nil))
	if err := c.Close(t.Context()); err == nil {
		t.Error("Close reports no error although the store is away")
	}
}

func TestRunPostsAtEveryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := recent.NewMemory(time.Now)
		c := recent.New(recent.Config{Store: s, Now: time.Now})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		r := telemetry.Record{ID: "1", Team: "search"}
		r.Time = time.Now()
		c.Note(&r, r.AppendLine(nil))
		time.Sleep(recent.Every - time.Millisecond)
		synctest.Wait()
		if page, _ := s.Requests(t.Context(), recent.Filter{}); len(page.Requests) != 0 {
			t.Error("posted before the interval was over")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if page, _ := s.Requests(t.Context(), recent.Filter{}); len(page.Requests) != 1 {
			t.Errorf("%d requests after the interval, want 1", len(page.Requests))
		}
		stop()
		running.Wait()
	})
}

// TestManyCoresAtOnce notes and posts at the same time: each request counts once.
func TestManyCoresAtOnce(t *testing.T) {
	clock := limittest.NewClock()
	s := recent.NewMemory(clock.Now)
	c := collector(s, clock)
	var noting sync.WaitGroup
	for worker := range 8 {
		noting.Go(func() {
			for i := range 200 {
				r := done(clock, fmt.Sprint("team-", i%3), fmt.Sprint(worker, "-", i))
				c.Note(&r, r.AppendLine(nil))
			}
		})
	}
	for range 20 {
		post(t, c)
	}
	noting.Wait()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := minutesOf(t, s, clock.Now(), clock.Now().Add(time.Minute), "")
	if len(got) != 1 || got[0].Requests != 1600 {
		t.Errorf("%+v, want 1600 requests", got)
	}
}
