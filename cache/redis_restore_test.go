package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// knows checks what the replica knows of a task.
func (r *replica) knows(t *testing.T, task string, status cache.Status) {
	t.Helper()
	if got, ok, err := r.Get(t.Context(), "search", task); err != nil || !ok || got.Answer.Status != status || got.Hold != aClaim("search", task).Hold {
		t.Errorf("of %s it knows %+v, %v, %v; want %s", task, got, ok, err, status)
	}
}

// end is the answer that ends a task.
func (r *replica) end(t *testing.T, task string) {
	t.Helper()
	claim, _, _ := r.Get(t.Context(), "search", task)
	if _, err := r.Hear(t.Context(), &claim, heard(task, cache.Succeeded), []byte("end"), 0); err != nil {
		t.Fatal(err)
	}
}

// Redis loses its memory. A replica restores the tasks it knows, with their last answers, so that the others and the
// finisher know them again. Ended tasks are not queried again, and the others not at once.
func TestClaimsArePutBack(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.Put(t.Context(), aClaim("search", "runs"))
		b.Put(t.Context(), aClaim("search", "ended"))
		b.end(t, "ended")
		a.knows(t, "ended", cache.Succeeded) // it was polled here, too
		if err := a.Maintain(t.Context()); err != nil {
			t.Fatalf("nothing is lost: %v", err)
		}
		flush()
		if err := a.Maintain(t.Context()); err == nil || !strings.Contains(err.Error(), "lost tasks of 1 teams") {
			t.Errorf("the loss is not reported: %v", err)
		}
		if err := a.Maintain(t.Context()); err != nil {
			t.Errorf("told again: %v", err)
		}
		other := open()
		other.knows(t, "runs", cache.Pending)
		other.knows(t, "ended", cache.Succeeded)
		if _, total, err := other.List(t.Context(), []string{"search"}, cache.Filter{}); total != 2 || err != nil {
			t.Errorf("%d are listed, %v", total, err)
		}
		if due, err := other.Due(t.Context(), 10, nil); len(due) > 0 || err != nil {
			t.Errorf("due at once are %+v, %v", due, err)
		}
		for _, task := range []string{"runs", "ended"} {
			claim := aClaim("search", task)
			if err := other.Schedule(t.Context(), &claim, time.Now().Add(-time.Second)); err != nil {
				t.Error(err)
			}
		}
		if due, err := other.Due(t.Context(), 10, nil); len(due) != 1 || due[0].Task != "runs" || err != nil {
			t.Errorf("due later are %+v, %v; want the running ones", due, err)
		}
	})
}

// A replica that knows less restores a task first; the end that another knows is kept all the same.
func TestAnEndIsPutBackOverLess(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.Put(t.Context(), aClaim("search", "t1"))
		b.knows(t, "t1", cache.Pending)
		a.end(t, "t1")
		flush()
		_ = b.Maintain(t.Context())
		open().knows(t, "t1", cache.Pending)
		_ = a.Maintain(t.Context())
		open().knows(t, "t1", cache.Succeeded)
	})
}

// After a large loss each turn restores a part, ended tasks first; failed writes are repeated once Redis is back.
func TestPuttingBackIsBounded(t *testing.T) {
	socket := realRedis(t)
	a, other := newReplica(t, "unix", socket), newReplica(t, "unix", socket)
	for n := range 2100 {
		a.Put(t.Context(), aClaim("search", fmt.Sprint("t", n)))
	}
	for n := range 5 {
		a.end(t, fmt.Sprint("t", n))
	}
	client(t, socket).FlushAll(t.Context())
	listed := func(want int) {
		t.Helper()
		if _, total, err := other.List(t.Context(), []string{"search"}, cache.Filter{}); total != want || err != nil {
			t.Errorf("%d are listed, %v; want %d", total, err, want)
		}
	}
	a.away.Store(true)
	_ = a.Maintain(t.Context())
	listed(0)
	a.away.Store(false)
	_ = a.Maintain(t.Context())
	listed(2000)
	for n := range 5 {
		other.knows(t, fmt.Sprint("t", n), cache.Succeeded)
	}
	a.away.Store(true)
	_ = a.Maintain(t.Context())
	listed(2000)
	a.away.Store(false)
	_ = a.Maintain(t.Context())
	listed(2100)
}

// A restored task is queried again as soon as each replica has restored the ends that it knows, and not before.
func TestARestoredTaskIsDueSoon(t *testing.T) {
	socket := realRedis(t)
	a, own := newReplica(t, "unix", socket), client(t, socket)
	a.Put(t.Context(), aClaim("search", "t1"))
	own.FlushAll(t.Context())
	_ = a.Maintain(t.Context())
	written, err := own.HGet(t.Context(), "sl1:{search}:task:t1", "written").Float64()
	if err != nil {
		t.Fatal(err)
	}
	due, err := own.ZScore(t.Context(), "sl1:{search}:due", "t1").Result()
	if wait := time.Duration(due-written) * time.Microsecond; err != nil || wait != 10*time.Second {
		t.Errorf("it is due %v after it was restored, %v", wait, err)
	}
}

// A replica of Redis that takes over lacks the newest claims, and other replicas have made as many new ones before this one looks: the
// count of claims does not tell the loss, but the number of Redis's memory does.
func TestALossThatNewClaimsHideIsNoticed(t *testing.T) {
	socket := realRedis(t)
	a, b, own := newReplica(t, "unix", socket), newReplica(t, "unix", socket), client(t, socket)
	made := a.putMany(t, "a", 3)
	back := copyOf(t, own)
	newest := a.putMany(t, "newest", 3)
	if err := a.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	back()
	b.putMany(t, "new", 3)
	a.memory.Add(1)
	if err := a.Maintain(t.Context()); err == nil {
		t.Error("the loss is not reported")
	}
	if err := a.Maintain(t.Context()); err != nil {
		t.Errorf("told again: %v", err)
	}
	newReplica(t, "unix", socket).present(t, append(made, newest...))
}

// A task that another replica created while Redis was away is neither denied nor shown until that replica has written it. A
// task that no replica has written by then is absent.
func TestATaskThatIsNotToldYetIsNotDenied(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, _ func()) {
		a, b := open(), open()
		if got, ok, err := b.Get(t.Context(), "search", "t1"); ok || err != nil {
			t.Errorf("Redis was never away, and an absent task gives %+v, %v", got, err)
		}
		a.away.Store(true)
		b.away.Store(true)
		a.Put(t.Context(), aClaim("search", "t1"))
		_ = b.Maintain(t.Context()) // it checks even without polls
		a.away.Store(false)
		b.away.Store(false)
		if got, ok, err := b.Get(t.Context(), "search", "t1"); ok || err == nil {
			t.Errorf("an unwritten task gives %+v, %v", got, err)
		}
		_ = a.Maintain(t.Context())
		b.knows(t, "t1", cache.Pending)
		b.behind.Store(int64(-10 * time.Second))
		if got, ok, err := b.Get(t.Context(), "search", "absent"); ok || err != nil {
			t.Errorf("10 s later an absent task gives %+v, %v", got, err)
		}
	})
}

// If only one team's keys cannot be read, the others are served as before.
func TestOneTeamIsAway(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, _ func()) {
		b := open()
		b.away.Store(true)
		if _, ok, err := b.Get(t.Context(), "search", "t1"); ok || err == nil {
			t.Errorf("Redis is away: %v", err)
		}
		b.away.Store(false)
		if _, ok, err := b.Get(t.Context(), "search", "t1"); ok || err == nil {
			t.Errorf("search's keys were away: %v", err)
		}
		if _, ok, err := b.Get(t.Context(), "shop", "t1"); ok || err != nil {
			t.Errorf("shop's keys were not: %v", err)
		}
	})
}

// Redis loses its memory. A task that one replica knows to have ended is queried neither by another that last saw it
// running, nor by one that learns of it from the restore: it would be charged again.
func TestALostTaskIsNotAskedFor(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.Put(t.Context(), aClaim("search", "made here"))
		b.knows(t, "made here", cache.Pending)
		b.Put(t.Context(), aClaim("search", "polled here"))
		a.knows(t, "polled here", cache.Pending)
		b.end(t, "made here")
		b.end(t, "polled here")
		flush()
		a.behind.Store(int64(-time.Second)) // its last answer is no longer fresh
		turn := func(r *replica, task string, want cache.Turn) {
			t.Helper()
			if got, err := r.Take(t.Context(), "search", task); got != want || err != nil {
				t.Errorf("the turn to query %s is %v, %v; want %v", task, got, err, want)
			}
		}
		for _, task := range []string{"made here", "polled here"} {
			a.knows(t, task, cache.Pending)
			turn(a, task, cache.Resting)
		}
		flush()
		_ = a.Maintain(t.Context()) // the loss is noticed without polls, and known tasks are restored
		other := open()
		other.knows(t, "polled here", cache.Pending)
		turn(other, "polled here", cache.Resting)
		_ = b.Maintain(t.Context())
		other.knows(t, "polled here", cache.Succeeded)
		other.Put(t.Context(), aClaim("search", "new"))
		turn(a, "new", cache.Mine)
	})
}

// present checks that a replica denies none of the tasks and finds each in the end. Until then it may say that it cannot
// tell.
func (r *replica) present(t *testing.T, tasks []string, others ...*replica) {
	t.Helper()
	for _, task := range tasks {
		known, asked := false, 0
		for ; !known && asked < 100; asked++ {
			_, ok, err := r.Get(t.Context(), "search", task)
			if !ok && err == nil {
				t.Fatalf("%s is denied", task)
			}
			if known = ok; !known {
				for _, other := range others {
					_ = other.Maintain(t.Context())
				}
			}
		}
		if !known {
			t.Fatalf("%s is never found", task)
		}
	}
}

// putMany claims tasks and returns their ids.
func (r *replica) putMany(t *testing.T, name string, n int) (tasks []string) {
	for i := range n {
		task := fmt.Sprint(name, i)
		r.Put(t.Context(), aClaim("search", task))
		tasks = append(tasks, task)
	}
	return tasks
}

// Redis, or a shard of it, loses its memory while claims keep coming. The loss is noticed whichever replica writes first,
// no task is denied, and all are restored, also in the list and the schedule.
func TestALossIsNoticedUnderLoad(t *testing.T) {
	for _, first := range []string{"maker", "other", "stranger"} {
		overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
			a, b, c := open(), open(), open()
			made := a.putMany(t, "a", 20)
			others := b.putMany(t, "b", 20)
			for _, r := range []*replica{a, b, c} {
				_, _ = r.Due(t.Context(), 0, nil) // this finds the teams, too
				_ = r.Maintain(t.Context())
			}
			flush()
			fresh := map[string]*replica{"maker": a, "other": b, "stranger": c}[first].putMany(t, "new", 5)
			b.present(t, made, a, b)
			a.present(t, others, a, b)
			c.present(t, append(made, others...), a, b)
			all := append(append(made, others...), fresh...)
			late := open()
			late.present(t, all)
			if _, total, err := late.List(t.Context(), []string{"search"}, cache.Filter{}); total != len(all) || err != nil {
				t.Errorf("%d are listed, %v; want %d", total, err, len(all))
			}
			for _, task := range all {
				if err := late.Schedule(t.Context(), &cache.Claim{Team: "search", Task: task}, time.Now().Add(-time.Second)); err != nil {
					t.Error(err)
				}
			}
			if due, err := late.Due(t.Context(), 1000, nil); len(due) != len(all) || err != nil {
				t.Errorf("%d are due, %v; want %d", len(due), err, len(all))
			}
		})
	}
}

// copyOf copies the keys of a team. back makes Redis an older copy that has them alone.
func copyOf(t *testing.T, own *redis.Client) (back func()) {
	dumps := map[string]string{}
	for _, key := range own.Keys(t.Context(), "sl1:{search}:*").Val() {
		dumps[key] = own.Dump(t.Context(), key).Val()
	}
	return func() {
		own.FlushAll(t.Context())
		for key, dump := range dumps {
			if err := own.Restore(t.Context(), key, time.Hour, dump).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A replica of Redis that takes over has lost only the newest writes: that is noticed, too.
func TestTheNewestClaimsAreLost(t *testing.T) {
	socket := realRedis(t)
	own := client(t, socket)
	a, b := newReplica(t, "unix", socket), newReplica(t, "unix", socket)
	made := a.putMany(t, "a", 10)
	_, _ = b.Due(t.Context(), 0, nil)
	_ = b.Maintain(t.Context())
	back := copyOf(t, own)
	newest := a.putMany(t, "newest", 10)
	b.present(t, newest[:1])
	back()
	b.putMany(t, "after", 3)
	b.present(t, append(made, newest...), a, b)
	if err := a.Maintain(t.Context()); err != nil {
		t.Errorf("told again: %v", err)
	}
	newReplica(t, "unix", socket).present(t, append(made, newest...))
}
