package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/console/access"
	"sluice/gateway/console/access/store"
	"sluice/policy/limit/limittest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// forms runs a test over the forms of the store. age lets time pass.
func forms(t *testing.T, test func(t *testing.T, s access.Store, age func(time.Duration))) {
	t.Run("memory", func(t *testing.T) {
		clock := limittest.NewClock()
		test(t, store.NewMemory(clock.Now), clock.Move)
	})
	t.Run("Redis", func(t *testing.T) {
		client := limittest.RealRedis(t)
		test(t, store.NewRedis(client, time.Minute), func(d time.Duration) { ageKeys(t, client, d) })
	})
	t.Run("a fake Redis", func(t *testing.T) {
		server, client := limittest.AgedRedis(t)
		test(t, store.NewRedis(client, time.Minute), server.FastForward)
	})
}

// ageKeys takes a while off the life of every key.
func ageKeys(t *testing.T, client redis.UniversalClient, d time.Duration) {
	t.Helper()
	for _, key := range client.Keys(t.Context(), "*").Val() {
		left := client.PTTL(t.Context(), key).Val()
		if left < 0 {
			t.Errorf("%s lives for ever", key)
		}
		client.PExpire(t.Context(), key, left-d) // one that ends in the past is removed
	}
}

const life = time.Hour

// put stores a value and fails the test if that fails.
func put(t *testing.T, s access.Store, kind, name, value string) {
	t.Helper()
	if err := s.Put(t.Context(), kind, name, []byte(value), life); err != nil {
		t.Fatal(err)
	}
}

// get returns a value, "none" without one.
func get(t *testing.T, s access.Store, kind, name string, renew time.Duration) string {
	t.Helper()
	return textOf(t)(s.Get(t.Context(), kind, name, renew))
}

func take(t *testing.T, s access.Store, kind, name string) string {
	t.Helper()
	return textOf(t)(s.Take(t.Context(), kind, name))
}

func textOf(t *testing.T) func([]byte, error) string {
	return func(value []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if value == nil {
			return "none"
		}
		return string(value)
	}
}

func list(t *testing.T, s access.Store, kind string) string {
	t.Helper()
	values, err := s.List(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = string(value)
	}
	return strings.Join(words, " ")
}

func want(t *testing.T, about, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", about, got, want)
	}
}

func TestValuesLiveForAWhile(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		want(t, "nothing", get(t, s, "a", "x", 0), "none")
		put(t, s, "a", "x", "one")
		put(t, s, "b", "x", "another kind")
		want(t, "what was put", get(t, s, "a", "x", 0), "one")
		put(t, s, "a", "x", "two")
		want(t, "what replaced it", get(t, s, "a", "x", 0), "two")
		age(life - time.Minute)
		want(t, "shortly before its end", get(t, s, "a", "x", 0), "two")
		age(time.Minute)
		want(t, "at its end", get(t, s, "a", "x", 0), "none")
		want(t, "in the list", list(t, s, "a"), "")
	})
}

func TestReadingMayRenew(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "x", "one")
		put(t, s, "a", "y", "looked at")
		age(life - time.Minute)
		want(t, "renewed", get(t, s, "a", "x", life), "one")
		want(t, "looked at", get(t, s, "a", "y", 0), "looked at")
		age(life - time.Minute)
		want(t, "after its first life", get(t, s, "a", "x", 0), "one")
		want(t, "looked at, after its life", get(t, s, "a", "y", life), "none")
	})
}

func TestSwapKeepsTheLifeAndRevivesNothing(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "x", "one")
		age(life / 2)
		if ok, err := s.Swap(t.Context(), "a", "x", []byte("two")); !ok || err != nil {
			t.Errorf("swapped: %v %v", ok, err)
		}
		want(t, "after the swap", get(t, s, "a", "x", 0), "two")
		age(life / 2)
		want(t, "at the end of the first life", get(t, s, "a", "x", 0), "none")
		put(t, s, "a", "x", "three")
		take(t, s, "a", "x")
		if ok, err := s.Swap(t.Context(), "a", "x", []byte("four")); ok || err != nil {
			t.Errorf("what was taken is swapped: %v %v", ok, err)
		}
		want(t, "what was taken", get(t, s, "a", "x", 0), "none")
	})
}

func TestOnlyOneTakes(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, _ func(time.Duration)) {
		put(t, s, "a", "x", "one")
		var got atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if value, err := s.Take(t.Context(), "a", "x"); err == nil && value != nil {
					got.Add(1)
				}
			})
		}
		all.Wait()
		if got.Load() != 1 {
			t.Errorf("%d of 20 got it", got.Load())
		}
		want(t, "then", take(t, s, "a", "x"), "none")
	})
}

func TestTheListHasWhatLivesTheNewestFirst(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "1", "oldest")
		put(t, s, "a", "2", "renewed")
		put(t, s, "b", "3", "of another kind")
		put(t, s, "a", "4", "newest")
		want(t, "all", list(t, s, "a"), "newest renewed oldest")
		take(t, s, "a", "4")
		want(t, "without what was taken", list(t, s, "a"), "renewed oldest")
		age(life - time.Minute)
		get(t, s, "a", "2", life)
		age(life - time.Minute)
		want(t, "without what has ended", list(t, s, "a"), "renewed")
	})
}

func TestCountsBeginAgainAfterTheirWindow(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		count := func(name string, step, want int) {
			t.Helper()
			if n, err := s.Count(t.Context(), name, step, time.Minute); n != want || err != nil {
				t.Errorf("%s by %d: %d %v, want %d", name, step, n, err, want)
			}
		}
		count("x", 0, 0)
		count("x", 1, 1)
		count("x", 1, 2)
		count("y", 1, 1)
		age(time.Minute - time.Second)
		count("x", 1, 3) // the window began with the first step
		count("x", 0, 3)
		age(time.Second)
		count("x", 0, 0)
		count("x", 1, 1)
		count("x", 1, 2)
		count("x", -1, 1)
		count("x", -1, 0)
		count("x", -1, 0)
		count("z", -1, 0)
		count("z", 1, 1)
	})
}

func TestMemoryBoundsItsCounts(t *testing.T) {
	clock := limittest.NewClock()
	s := store.NewMemory(clock.Now)
	for i := range 30_000 {
		clock.Move(time.Millisecond)
		if _, err := s.Count(t.Context(), fmt.Sprint(i), 1, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	var left []int
	for i := range 30_000 {
		if n, _ := s.Count(t.Context(), fmt.Sprint(i), 0, time.Hour); n > 0 {
			left = append(left, i)
		}
	}
	if len(left) < 7_500 || len(left) > 10_000 || slices.Min(left) != 30_000-len(left) {
		t.Errorf("%d counts are left, the oldest %d", len(left), slices.Min(left))
	}
}

func TestRedisIsAwayInTime(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	s := store.NewRedis(client, time.Millisecond)
	server.Close()
	if _, err := s.Get(t.Context(), "a", "x", 0); err == nil {
		t.Error("no error without Redis")
	}
}
