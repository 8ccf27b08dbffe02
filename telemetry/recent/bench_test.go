package recent_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit/limittest"
	"sluice/telemetry/recent"
)

// BenchmarkNote is what a request pays: no allocation, and far below a microsecond. docs/performance.md has the figures.
func BenchmarkNote(b *testing.B) {
	clock := limittest.NewClock()
	b.Run("one core", func(b *testing.B) {
		c, r := collector(&down{}, clock), done(clock, "search", "1")
		line := r.AppendLine(nil)
		b.ReportAllocs()
		for b.Loop() {
			c.Note(&r, line)
		}
	})
	b.Run("all cores", func(b *testing.B) {
		c := collector(&down{}, clock)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := done(clock, "search", "1")
			line := r.AppendLine(nil)
			for pb.Next() {
				c.Note(&r, line)
			}
		})
	})
}

// BenchmarkPost is a post of a busy process to Redis, beside the requests: a thousand teams and ten thousand requests.
func BenchmarkPost(b *testing.B) {
	clock := limittest.NewClock()
	c := collector(recent.NewRedis(limittest.RealRedis(b), clock.Now), clock)
	for b.Loop() {
		b.StopTimer()
		for i := range recent.MostLines {
			r := done(clock, fmt.Sprint("team-", i%1000), fmt.Sprint(i))
			c.Note(&r, r.AppendLine(nil))
		}
		b.StartTimer()
		if err := c.Post(b.Context()); err != nil {
			b.Fatal(err)
		}
		clock.Move(recent.Every)
	}
}

// BenchmarkRequests is a page of requests in Redis by a filter that few pass: at first, and when the process has read them before.
func BenchmarkRequests(b *testing.B) {
	clock, client := limittest.NewClock(), limittest.RealRedis(b)
	s := recent.NewRedis(client, clock.Now)
	c := collector(s, clock)
	for i := range recent.MostLines {
		r := done(clock, fmt.Sprint("team-", i%1000), fmt.Sprint(i))
		c.Note(&r, r.AppendLine(nil))
		clock.Move(time.Millisecond)
	}
	if err := c.Post(b.Context()); err != nil {
		b.Fatal(err)
	}
	for name, fresh := range map[string]bool{"first": true, "again": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if fresh {
					s = recent.NewRedis(client, clock.Now)
				}
				if _, err := s.Requests(b.Context(), recent.Filter{Teams: []string{"team-7"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
