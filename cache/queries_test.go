package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/cache"
)

// However teams query, no second has more queries than the account may make.
func TestQueriesInNoSecondTooMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		rate := rapid.IntRange(1, 20).Draw(t, "rate")
		queries := cache.NewQueries(rate, func() time.Time { return now })
		var granted []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "asks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * time.Millisecond)
			team := fmt.Sprint("team", rapid.IntRange(0, 4).Draw(t, "team"))
			if ok, _ := queries.Allow(t.Context(), cache.Wish{Team: team, Spare: rapid.Bool().Draw(t, "spare")}); ok {
				granted = append(granted, now)
			}
		}
		for i := range granted {
			if j := i + rate; j < len(granted) && granted[j].Sub(granted[i]) < time.Second {
				t.Fatalf("%d queries in %v", rate+1, granted[j].Sub(granted[i]))
			}
		}
	})
}

// A team that floods leaves the others their share, and gets the queries that they do not use.
func TestQueriesAreShared(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	queries := cache.NewQueries(20, func() time.Time { return now })
	got := map[string]int{}
	for ms := range 10_000 {
		now = now.Add(time.Millisecond)
		ask := func(team string) {
			if ok, _ := queries.Allow(t.Context(), cache.Wish{Team: team}); ok {
				got[team]++
			}
		}
		ask("flood")
		if ms%500 == 0 {
			ask("quiet")
		}
		if ms > 5000 {
			ask("second flood")
		}
	}
	if got["quiet"] < 19 {
		t.Errorf("a quiet team got %d of 20 queries", got["quiet"])
	}
	if got["second flood"] < 30 || got["flood"] < 80 {
		t.Errorf("%v", got)
	}
}

// The finisher queries after 1, 2, 4, 8 and then every 12 intervals, once shortly before the end of the task's life, and at
// its end.
func TestNextQuery(t *testing.T) {
	created := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		age     time.Duration
		queries int
		want    time.Duration
	}{
		{0, 0, 5 * time.Second}, {time.Hour, 1, 10 * time.Second}, {time.Hour, 2, 20 * time.Second}, {time.Hour, 3, 40 * time.Second},
		{time.Hour, 4, time.Minute}, {time.Hour, 100, time.Minute},
		{24*time.Hour - 100*time.Second, 9, 40 * time.Second}, {24*time.Hour - 30*time.Second, 9, 30 * time.Second},
		{24 * time.Hour, 9, time.Minute},
	} {
		now := created.Add(tt.age)
		if got := cache.NextQuery(now, created, 24*time.Hour, 5*time.Second, tt.queries).Sub(now); got != tt.want {
			t.Errorf("%v old, %d queries: in %v, want %v", tt.age, tt.queries, got, tt.want)
		}
	}
}

// The finisher leaves a quarter of the rate to clients, in both forms.
func TestTheFinisherLeavesAQuarter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	server := miniredis.RunT(t)
	server.SetTime(now)
	for form, allow := range map[string]func(context.Context, cache.Wish) (bool, error){
		"memory": cache.NewQueries(20, func() time.Time { return now }).Allow,
		"redis":  open(t, &redis.Options{Addr: server.Addr()}).redis.Allow,
	} {
		got := map[bool]int{}
		for _, finisher := range []bool{true, false} {
			for range 30 { // of 20 in a window
				ok, err := allow(t.Context(), cache.Wish{Team: "search", Spare: finisher})
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					got[finisher]++
				}
			}
		}
		if got[true] != 15 || got[false] != 5 {
			t.Errorf("%s: the finisher got %d of 20 queries, its clients %d; want 15 and 5", form, got[true], got[false])
		}
	}
}

// Each account has its own rate, in both forms; one that names none has the rate of all.
func TestEachAccountHasARateOfItsOwn(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	server := miniredis.RunT(t)
	server.SetTime(now)
	for form, allow := range map[string]func(context.Context, cache.Wish) (bool, error){
		"memory": cache.NewQueries(20, func() time.Time { return now }).Allow,
		"redis":  open(t, &redis.Options{Addr: server.Addr()}).redis.Allow,
	} {
		got := map[string]int{}
		for range 30 {
			for account, rate := range map[string]int{"": 0, "cancel": 7, "north": 0} {
				ok, err := allow(t.Context(), cache.Wish{Account: account, Rate: rate, Team: "search"})
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					got[account]++
				}
			}
		}
		if got[""] != 20 || got["cancel"] != 7 || got["north"] != 20 {
			t.Errorf("%s: %v", form, got)
		}
	}
}

// All replicas together keep to the rate of queries.
func TestQueriesOverReplicas(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		views := []*replica{open(), open(), open()}
		begun, granted := time.Now(), 0
		for n := range 200 {
			ok, err := views[n%3].Allow(t.Context(), cache.Wish{Team: fmt.Sprint("team", n%4)})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				granted++
			}
		}
		if took := time.Since(begun); took < time.Second && granted > 20 || granted < 15 {
			t.Errorf("%d queries in %v", granted, took)
		}
	})
}

// Two replicas share the account's rate of cancels, apart from that of queries; without Redis each uses the whole rate.
func TestCancelsOfReplicas(t *testing.T) {
	at, now := realRedis(t), time.Now()
	a, b, gone := open(t, at), open(t, at), dial(t, at)
	for range 30 {
		_, _ = a.Allow(t.Context(), cache.Wish{Team: "search"})
	}
	_ = gone.Close()
	alone := cache.NewRedis(cache.RedisConfig{Client: gone, Timeout: time.Second, TTL: time.Hour, Rate: 20,
		Now: func() time.Time { return now }})
	for about, cancels := range map[string][2]*cache.RedisQueries{"together": {a.redis.Cancels, b.redis.Cancels},
		"without Redis": {alone.Cancels, alone.Cancels}} {
		n := 0
		for i := range 60 {
			if ok, err := cancels[i%2].Allow(t.Context(), cache.Wish{Team: "search"}); err != nil {
				t.Fatal(err)
			} else if ok {
				n++
			}
		}
		if n != 20 {
			t.Errorf("%s: %d cancels at once, want 20", about, n)
		}
	}
}
