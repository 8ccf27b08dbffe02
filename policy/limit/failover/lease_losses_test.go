package failover

import (
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// Redis loses its memory while a task is created. The task keeps its lease.
func TestALeaseIsKeptIfRedisLostTheHold(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "open_tasks: 1", "quotas: {images: {day: 10}}")
	s.must("seen", team, limit.Amounts{})
	s.back()
	task := func(id string) *limit.Held {
		h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Task, h.Lease = true, 11*time.Minute
		v, err := s.Failover.Admit(s.Context(), &h)
		if err != nil {
			t.Fatal(err)
		}
		return v.Held
	}
	held := task("task")
	s.client.FlushAll(s.Context())
	_ = s.Extend(s.Context(), held, 25*time.Hour)
	for range 13 {
		s.clock.Move(time.Minute)
		_ = s.Maintain(s.Context())
	}
	if st := s.look(team); st.Used[2*limit.Images] != 0 || st.Held[2*limit.Images] != 4 || st.Tasks != 1 {
		t.Errorf("%d images are used, %d held by %d open tasks", st.Used[2*limit.Images], st.Held[2*limit.Images], st.Tasks)
	}
	if task("second") != nil {
		t.Error("a second task is admitted beside the first")
	}
	if n := s.queue.waiting(); n > 0 {
		t.Errorf("%d jobs wait for ever", n)
	}
}

// A request that was admitted without Redis moves while a renewal reports it. Redis has its new account, also if the reply is lost.
func TestARequestMovesWhileItIsReported(t *testing.T) {
	for _, lost := range []bool{false, true} {
		client := limittest.RealRedis(t)
		s, hook := newHarness(t, client, nil), &onPost{}
		client.AddHook(hook)
		team := limittest.Team(t, "quotas: {images: {day: 1000}}")
		s.must("seen", team, limit.Amounts{})
		s.back()
		s.fault.mode.Store(away)
		h := hold("local", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Lease = time.Hour
		v, err := s.Failover.Admit(s.Context(), &h)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		hook.do = func() {
			to := h
			to.ID, to.Account = v.Held.ID, "us"
			if v, err := s.Move(s.Context(), v.Held, &to); err != nil || v.Held == nil {
				t.Error(v, err)
			}
			s.settled()
			if lost {
				s.fault.mode.Store(deaf)
			}
		}
		s.fault.mode.Store(well)
		_ = s.Maintain(s.Context())
		s.back()
		if text := client.Get(t.Context(), "sl1:{search}:hold:local").Val(); !strings.Contains(text, " search@us ") {
			t.Errorf("reply lost %v: Redis has %q", lost, text)
		}
	}
}
