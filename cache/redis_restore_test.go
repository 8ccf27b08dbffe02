package cache_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// knows checks what the replica knows of a task.
func (r *replica) knows(task string, status cache.Status) {
	r.Helper()
	if got := r.get("search", task); got.Answer.Status != status || !reflect.DeepEqual(got.Hold, aClaim("search", task).Hold) {
		r.Errorf("of %s it knows %+v; want %s", task, got, status)
	}
}

func (r *replica) end(task string) {
	r.Helper()
	r.hear("search", task, cache.Succeeded, "end")
}

const lost1 = "teams affected: 1;"

// Redis loses its memory. A replica restores the tasks it knows, with their last answers, so that the others and the finisher
// know them again. Ended tasks are not queried again, and the others not immediately.
func TestClaimsArePutBack(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.put("search", "runs")
		b.put("search", "ended")
		b.end("ended")
		a.knows("ended", cache.Succeeded) // it was polled here, too
		a.maintain("")                    // nothing is lost
		flush()
		a.maintain(lost1)
		a.maintain("")
		other := open()
		other.knows("runs", cache.Pending)
		other.knows("ended", cache.Succeeded)
		other.listed(2)
		if due := other.due(10); len(due) > 0 {
			t.Errorf("due at once are %+v", due)
		}
		other.schedule("search", "runs", "ended")
		if due := other.due(10); len(due) != 1 || due[0].Task != "runs" {
			t.Errorf("due later are %+v; want the running ones", due)
		}
	})
}

// A replica that knows less restores a task first; the end that another knows is kept nevertheless.
func TestAnEndIsPutBackOverLess(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.put("search", "t1")
		b.knows("t1", cache.Pending)
		a.end("t1")
		flush()
		_ = b.Maintain(t.Context())
		open().knows("t1", cache.Pending)
		_ = a.Maintain(t.Context())
		open().knows("t1", cache.Succeeded)
	})
}

// After a large loss each turn restores a part, ended tasks first; failed writes are retried once Redis is back.
func TestPuttingBackIsBounded(t *testing.T) {
	at := realRedis(t)
	a, other := open(t, at), open(t, at)
	tasks := a.many("search", "t", 2100)
	for _, task := range tasks[:5] {
		a.end(task)
	}
	dial(t, at).FlushDB(t.Context())
	for _, want := range []int{0, 2000, 2000, 2100} {
		a.away.Store(!a.away.Load())
		_ = a.Maintain(t.Context())
		other.listed(want)
		for _, task := range tasks[:min(want, 5)] {
			other.knows(task, cache.Succeeded)
		}
	}
}

// A restored task is queried again as soon as each replica has restored the ends that it knows, and not before.
func TestARestoredTaskIsDueSoon(t *testing.T) {
	at := realRedis(t)
	a, own := open(t, at), dial(t, at)
	a.put("search", "t1")
	own.FlushDB(t.Context())
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

// TestWhatAStreamCountedIsPutBackOverLess: replicas that do not know the count restore the task first.
func TestWhatAStreamCountedIsPutBackOverLess(t *testing.T) {
	for name, unnoticed := range map[string]bool{"written before the loss": false, "written while nobody knew of the loss": true} {
		t.Run(name, func(t *testing.T) {
			overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
				a, b := open(), open()
				a.put("search", "t1")
				b.knows("t1", cache.Pending)
				claim := a.get("search", "t1")
				if unnoticed {
					flush()
				}
				a.Streamed(t.Context(), &claim, "counted")
				if !unnoticed {
					flush()
				}
				_ = b.Maintain(t.Context())
				_ = a.Maintain(t.Context())
				open().counted("t1")
			})
		})
	}
}

// TestWhatAStreamCountedIsPutBackIntoAnOlderCopy: the copy has the task without the count.
func TestWhatAStreamCountedIsPutBackIntoAnOlderCopy(t *testing.T) {
	at := realRedis(t)
	a, b, own := open(t, at), open(t, at), dial(t, at)
	a.put("search", "t1")
	b.knows("t1", cache.Pending)
	claim := a.get("search", "t1")
	a.maintain("")
	b.maintain("")
	back := copyOf(t, own)
	a.Streamed(t.Context(), &claim, "counted")
	back()
	for _, r := range []*replica{b, a} {
		r.memory.Add(1)
		_ = r.Maintain(t.Context())
	}
	open(t, at).counted("t1")
}

// counted checks what the replica knows of what the stream of a task's creation counted.
func (r *replica) counted(task string) {
	r.Helper()
	if got := r.get("search", task); got.Answer.Streamed != "counted" {
		r.Errorf("of %s it knows %+v", task, got.Answer)
	}
}

// copyOf copies the keys of a team. back turns Redis into an older copy that has only those.
func copyOf(t *testing.T, own *redis.Client) (back func()) {
	dumps := map[string]string{}
	for _, key := range own.Keys(t.Context(), "sl1:{search}:*").Val() {
		dumps[key] = own.Dump(t.Context(), key).Val()
	}
	return func() {
		own.FlushDB(t.Context())
		for key, dump := range dumps {
			if err := own.Restore(t.Context(), key, time.Hour, dump).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A replica of Redis that takes over has lost only the newest writes. That is noticed by the count of claims; and if other replicas have
// made as many new ones before this one looks, by the number of Redis's memory.
func TestTheNewestClaimsAreLost(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		at := realRedis(t)
		a, b, own := open(t, at), open(t, at), dial(t, at)
		made := a.many("search", "a", 3)
		b.due(0)
		_ = b.Maintain(t.Context())
		back := copyOf(t, own)
		newest := a.many("search", "newest", 3)
		a.maintain("")
		if hidden {
			back()
			b.many("search", "new", 3)
			a.memory.Add(1)
			a.maintain(lost1)
		} else {
			b.present(newest[:1])
			back()
			b.many("search", "after", 1)
			b.present(append(made, newest...), a, b)
		}
		a.maintain("") // it is not reported again
		open(t, at).present(append(made, newest...))
	}
}

// A task that another replica created while Redis was away is neither denied nor shown until that replica has written it. A
// task that no replica has written by then is absent.
func TestATaskThatIsNotToldYetIsNotDenied(t *testing.T) {
	overRedis(t, func(_ *testing.T, open func() *replica, _ func()) {
		a, b := open(), open()
		b.absent("search", "t1", true) // Redis was never away
		a.away.Store(true)
		b.away.Store(true)
		a.put("search", "t1")
		_ = b.Maintain(b.Context()) // it checks even without polls
		a.away.Store(false)
		b.away.Store(false)
		b.absent("search", "t1", false)
		_ = a.Maintain(b.Context())
		b.knows("t1", cache.Pending)
		b.behind.Store(int64(-10 * time.Second))
		b.absent("search", "absent", true)
	})
}

// If only one team's keys cannot be read, the others are served as before.
func TestOneTeamIsAway(t *testing.T) {
	overRedis(t, func(_ *testing.T, open func() *replica, _ func()) {
		b := open()
		b.away.Store(true)
		b.absent("search", "t1", false)
		b.away.Store(false)
		b.absent("search", "t1", false)
		b.absent("shop", "t1", true)
	})
}

// Redis loses its memory. A task that one replica knows to have ended is queried neither by another that last saw it
// running, nor by one that learns of it from the restore: it would be charged again.
func TestALostTaskIsNotAskedFor(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		a, b := open(), open()
		a.put("search", "made here")
		b.knows("made here", cache.Pending)
		b.put("search", "polled here")
		a.knows("polled here", cache.Pending)
		b.end("made here")
		b.end("polled here")
		flush()
		a.behind.Store(int64(-time.Second)) // its last answer is no longer fresh
		for _, task := range []string{"made here", "polled here"} {
			a.knows(task, cache.Pending)
			a.take(task, cache.Resting)
		}
		flush()
		_ = a.Maintain(t.Context()) // the loss is noticed without polls, and known tasks are restored
		other := open()
		other.knows("polled here", cache.Pending)
		other.take("polled here", cache.Resting)
		_ = b.Maintain(t.Context())
		other.knows("polled here", cache.Succeeded)
		other.put("search", "new")
		a.take("new", cache.Mine)
	})
}

// present checks that a replica denies none of the tasks and finds each in the end. Until then it may return an error.
func (r *replica) present(tasks []string, others ...*replica) {
	r.Helper()
	for _, task := range tasks {
		for asked := 0; ; asked++ {
			_, ok, err := r.Get(r.Context(), "search", task)
			if ok {
				break
			}
			if err == nil || asked == 100 {
				r.Fatalf("%s is denied, or never found: %v", task, err)
			}
			for _, other := range others {
				_ = other.Maintain(r.Context())
			}
		}
	}
}

// Redis, or a shard of it, loses its memory while claims keep coming. The loss is noticed whichever replica writes first,
// no task is denied, and all are restored, also in the list and the schedule.
func TestALossIsNoticedUnderLoad(t *testing.T) {
	for _, first := range []string{"maker", "other", "stranger"} {
		overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
			a, b, c := open(), open(), open()
			made, others := a.many("search", "a", 20), b.many("search", "b", 20)
			for _, r := range []*replica{a, b, c} {
				r.due(0) // this finds the teams, too
				_ = r.Maintain(t.Context())
			}
			flush()
			fresh := map[string]*replica{"maker": a, "other": b, "stranger": c}[first].many("search", "new", 5)
			b.present(made, a, b)
			a.present(others, a, b)
			c.present(append(made, others...), a, b)
			all := append(append(made, others...), fresh...)
			late := open()
			late.present(all)
			late.listed(len(all))
			late.schedule("search", all...)
			if due := late.due(1000); len(due) != len(all) {
				t.Errorf("%s: %d are due; want %d", first, len(due), len(all))
			}
		})
	}
}

// A task that has ended leaves the process ten minutes later, as does one that the service has forgotten, but not while Redis is away or
// may have lost it. One that runs stays.
func TestEndedTasksLeaveTheProcess(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, _ func()) {
		r := open()
		here := func(want bool, tasks ...string) {
			t.Helper()
			for _, task := range tasks {
				if known, _ := r.redis.Here("search", task); known != want {
					t.Errorf("%s is known here: %v", task, known)
				}
			}
		}
		after := func(d time.Duration) { r.behind.Store(-int64(d)) }
		r.put("search", "runs", "ended")
		r.end("ended")
		r.maintain("")
		after(9 * time.Minute)
		r.maintain("")
		here(true, "runs", "ended")
		r.away.Store(true)
		after(11 * time.Minute)
		r.maintain("")
		here(true, "ended")
		r.away.Store(false)
		after(13 * time.Minute)
		r.maintain("")
		here(false, "ended")
		here(true, "runs")
		r.knows("ended", cache.Succeeded)
		here(true, "ended")
		after(3 * time.Hour)
		r.maintain("")
		here(false, "runs", "ended")
	})
}
