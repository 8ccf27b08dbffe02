package access_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/console/access"
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
		test(t, access.NewMemory(clock.Now), clock.Move)
	})
	t.Run("Redis", func(t *testing.T) {
		client := limittest.RealRedis(t)
		test(t, access.NewRedis(client, time.Minute), func(d time.Duration) { ageKeys(t, client, d) })
	})
	t.Run("a fake Redis", func(t *testing.T) {
		server, client := limittest.AgedRedis(t)
		test(t, access.NewRedis(client, time.Minute), server.FastForward)
	})
}

// ageKeys shortens the remaining life of every key.
func ageKeys(t *testing.T, client redis.UniversalClient, d time.Duration) {
	t.Helper()
	for _, key := range client.Keys(t.Context(), "*").Val() {
		left := client.PTTL(t.Context(), key).Val()
		if left < 0 {
			t.Errorf("%s lives for ever", key)
		}
		client.PExpire(t.Context(), key, left-d) // one that expires in the past is removed
	}
}

const life = time.Hour

// put stores a value or fails the test.
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

func TestValuesLiveForAWhile(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		expect(t, "nothing", get(t, s, "a", "x", 0), "none")
		put(t, s, "a", "x", "one")
		put(t, s, "b", "x", "another kind")
		expect(t, "what was put", get(t, s, "a", "x", 0), "one")
		put(t, s, "a", "x", "two")
		expect(t, "what replaced it", get(t, s, "a", "x", 0), "two")
		age(life - time.Minute)
		expect(t, "shortly before its end", get(t, s, "a", "x", 0), "two")
		age(time.Minute)
		expect(t, "at its end", get(t, s, "a", "x", 0), "none")
		expect(t, "in the list", list(t, s, "a"), "")
	})
}

func TestReadingMayRenew(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "x", "one")
		put(t, s, "a", "y", "looked at")
		age(life - time.Minute)
		expect(t, "renewed", get(t, s, "a", "x", life), "one")
		expect(t, "looked at", get(t, s, "a", "y", 0), "looked at")
		age(life - time.Minute)
		expect(t, "after its first life", get(t, s, "a", "x", 0), "one")
		expect(t, "looked at, after its life", get(t, s, "a", "y", life), "none")
	})
}

func TestSwapKeepsTheLifeAndRevivesNothing(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "x", "one")
		age(life / 2)
		if ok, err := s.Swap(t.Context(), "a", "x", []byte("two")); !ok || err != nil {
			t.Errorf("swapped: %v %v", ok, err)
		}
		expect(t, "after the swap", get(t, s, "a", "x", 0), "two")
		age(life / 2)
		expect(t, "at the end of the first life", get(t, s, "a", "x", 0), "none")
		put(t, s, "a", "x", "three")
		take(t, s, "a", "x")
		if ok, err := s.Swap(t.Context(), "a", "x", []byte("four")); ok || err != nil {
			t.Errorf("what was taken is swapped: %v %v", ok, err)
		}
		expect(t, "what was taken", get(t, s, "a", "x", 0), "none")
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
		expect(t, "then", take(t, s, "a", "x"), "none")
	})
}

func TestTheListHasWhatLivesTheNewestFirst(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		put(t, s, "a", "1", "oldest")
		put(t, s, "a", "2", "renewed")
		put(t, s, "b", "3", "of another kind")
		put(t, s, "a", "4", "newest")
		expect(t, "all", list(t, s, "a"), "newest renewed oldest")
		take(t, s, "a", "4")
		expect(t, "without what was taken", list(t, s, "a"), "renewed oldest")
		age(life - time.Minute)
		get(t, s, "a", "2", life)
		age(life - time.Minute)
		expect(t, "without what has ended", list(t, s, "a"), "renewed")
	})
}

func TestCountsBeginAgainAfterTheirWindow(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, age func(time.Duration)) {
		count := func(name string, want int) {
			t.Helper()
			if n, err := s.Count(t.Context(), name, time.Minute); n != want || err != nil {
				t.Errorf("%s: %d %v, want %d", name, n, err, want)
			}
		}
		count("x", 1)
		count("x", 2)
		count("y", 1)
		age(time.Minute - time.Second)
		count("x", 3) // the window began with the first
		age(time.Second)
		count("x", 1)
		count("x", 2)
	})
}

func TestMemoryBoundsItsCounts(t *testing.T) {
	clock := limittest.NewClock()
	s := access.NewMemory(clock.Now)
	count := func(i int) int {
		clock.Move(time.Millisecond)
		n, err := s.Count(t.Context(), fmt.Sprint(i), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 30_000 {
		count(i)
	}
	kept := 0
	for i := 29_999; count(i) == 2; i-- {
		kept++
	}
	if kept < 7_500 || kept > 10_000 {
		t.Errorf("the newest %d counts are left", kept)
	}
}

func TestRedisIsAwayInTime(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	s := access.NewRedis(client, time.Millisecond)
	server.Close()
	if _, err := s.Get(t.Context(), "a", "x", 0); err == nil {
		t.Error("no error without Redis")
	}
}

// fill puts many values of one kind concurrently, and calls then for each of their names.
func fill(t *testing.T, s access.Store, then func(name string) error) {
	t.Helper()
	if strings.HasSuffix(t.Name(), "fake_Redis") {
		t.Skip("it takes half a minute for this many values")
	}
	var all sync.WaitGroup
	for part := range 10 {
		all.Go(func() {
			for i := range mostKept / 10 {
				name := fmt.Sprint(part, "-", i)
				if err := cmp.Or(s.Put(t.Context(), "a", name, []byte("x"), life), then(name)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

const mostKept = 10_000

func TestTheOldestGoFirst(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, _ func(time.Duration)) {
		put(t, s, "a", "oldest", "oldest")
		fill(t, s, func(string) error { return nil })
		expect(t, "the oldest", get(t, s, "a", "oldest", 0), "none")
		if values, err := s.List(t.Context(), "a"); len(values) != mostKept || err != nil {
			t.Errorf("%d values are kept, %v", len(values), err)
		}
	})
}

// TestWhatHasEndedTakesNoPlace of live values: logins and logouts of others do not log out people who stay.
func TestWhatHasEndedTakesNoPlace(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, _ func(time.Duration)) {
		const staying = 20
		for i := range staying {
			put(t, s, "a", fmt.Sprint("stays-", i), "stays")
		}
		fill(t, s, func(name string) error {
			_, err := s.Take(t.Context(), "a", name)
			return err
		})
		if values, err := s.List(t.Context(), "a"); len(values) != staying || err != nil {
			t.Errorf("%d of %d are left, %v", len(values), staying, err)
		}
	})
}
