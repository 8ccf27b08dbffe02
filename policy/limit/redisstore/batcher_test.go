package redisstore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// trips notes the round trips of several calls, and fails them as the library may: without failing the single calls.
type trips struct {
	mu    sync.Mutex
	calls []int // of each
	fail  error
}

func (n *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, cmd) }
}

func (n *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 1 { // a connection's first commands
			return next(ctx, cmds)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.calls = append(n.calls, len(cmds))
		if n.fail != nil {
			return n.fail
		}
		return next(ctx, cmds)
	}
}

// A round trip has room for a limited number of callers, and takes those with as much time left as its sender, or a little
// more.
func TestBatcherEnqueues(t *testing.T) {
	f, now := &batcher{}, time.Now()
	c := new(admission)
	first, sends := f.enqueue(admissionGroup{c}, now)
	if first == nil || !sends {
		t.Fatal("no caller sends the round")
	}
	if r, _ := f.enqueue(admissionGroup{c}, now.Add(-1)); r != nil {
		t.Error("one that has less time is in it")
	}
	if r, _ := f.enqueue(admissionGroup{c}, now.Add(moreTime+1)); r != nil {
		t.Error("one that has more time is in it, and would fail with the sender")
	}
	for range roundMost - 1 {
		if r, sends := f.enqueue(admissionGroup{c}, now.Add(moreTime)); r != first || sends {
			t.Error("one that has the time is not in it")
		}
	}
	if r, sends := f.enqueue(admissionGroup{c}, now); r == first || !sends {
		t.Error("a round has more than its room")
	}
}

// together lets callers ask for holds of different teams, in one round trip, and expects further trips with these numbers of calls.
func together(s *form, n *trips, trips ...int) (verdicts [roundMost - 1]limit.Verdict, errs [roundMost - 1]error) {
	s.Helper()
	s.redis.admissions.callers.Store(1)                          // never ends, so that no caller is alone
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute) // all have the same deadline, so that none is left behind
	defer cancel()
	until, _ := ctx.Deadline()
	first, _ := s.redis.admissions.enqueue(admissionGroup{new(admission)}, until)
	var asking sync.WaitGroup
	for n := range verdicts {
		asking.Go(func() {
			h := hold(id(n), &teams.Team{ID: "t" + id(n)}, limit.Amounts{limit.Requests: int64(n + 1)})
			h.Lease = time.Hour
			verdicts[n], errs[n] = admitAlone(ctx, s.redis, &h)
		})
	}
	for all := false; !all; runtime.Gosched() {
		s.redis.admissions.mu.Lock()
		all = s.redis.admissions.next == nil
		s.redis.admissions.mu.Unlock()
	}
	first.list = first.list[1:]
	s.redis.admissions.sendRound(ctx, first)
	asking.Wait()
	if want := append([]int{len(verdicts)}, trips...); !slices.Equal(n.calls, want) {
		s.Errorf("the round trips had %v calls", n.calls)
	}
	return verdicts, errs
}

// Each call of a round trip has its own reply, also if Redis does not know the script.
func TestFlightGivesEachItsReply(t *testing.T) {
	redisForms(t, func(s *form) {
		n := &trips{}
		agreed(s, s.redis)
		s.client.AddHook(n)
		s.client.ScriptFlush(s.Context())
		verdicts, errs := together(s, n, roundMost-2) // one sends the script, the others then its digest
		for n, v := range verdicts {
			if errs[n] != nil || v.Held == nil || v.Held.ID != id(n) {
				t.Errorf("%d: %+v, %v", n, v, errs[n])
			}
			if st := s.look(&teams.Team{ID: "t" + id(n)}); st.Held[2*limit.Requests] != int64(n+1) {
				t.Errorf("%d: %d held", n, st.Held[2*limit.Requests])
			}
		}
	})
}

// A failed round trip fails all of its calls, and nothing else: no connection counts as out of step.
func TestFlightFails(t *testing.T) {
	redisForms(t, func(s *form) {
		lost := errors.New("lost")
		n := &trips{fail: lost}
		agreed(s, s.redis)
		s.client.AddHook(n)
		_, errs := together(s, n)
		for n, err := range errs {
			if !errors.Is(err, lost) || errors.Is(err, errMixed) {
				t.Errorf("%d: %v", n, err)
			}
		}
	})
}
