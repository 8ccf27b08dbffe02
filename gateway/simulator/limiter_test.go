package simulator

import (
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	l := &limiter{passed: make([]time.Time, 2)}
	for i, tt := range []struct {
		at time.Duration
		ok bool
	}{
		{0, true}, {0, true}, {0, false},
		{999 * time.Millisecond, false},
		{time.Second, true}, {1500 * time.Millisecond, true}, {1999 * time.Millisecond, false},
		{2 * time.Second, true}, {2400 * time.Millisecond, false}, {2500 * time.Millisecond, true},
	} {
		if got := l.allow(start.Add(tt.at)); got != tt.ok {
			t.Errorf("call %d at %v passes: %v, want %v", i, tt.at, got, tt.ok)
		}
	}
}

// No interval of a second has more calls than the rate.
func TestLimiterInEveryWindow(t *testing.T) {
	const rate = 20
	l := &limiter{passed: make([]time.Time, rate)}
	var passed []time.Time
	for i := range 5000 {
		if now := start.Add(time.Duration(i) * 7 * time.Millisecond); l.allow(now) {
			passed = append(passed, now)
		}
	}
	for i := rate; i < len(passed); i++ {
		if passed[i].Sub(passed[i-rate]) < time.Second {
			t.Fatalf("%d calls pass within %v", rate+1, passed[i].Sub(passed[i-rate]))
		}
	}
	if len(passed) < 34*rate {
		t.Errorf("only %d of 700 calls pass in 35 seconds", len(passed))
	}
}

func TestTaskOperationsAreLimitedEach(t *testing.T) {
	r := newRig(t, Config{Keys: []string{"k", "other"}})
	for _, op := range []struct{ method, path string }{
		{"GET", tasksPath + "/abc"}, {"GET", tasksPath}, {"POST", tasksPath + "/abc/cancel"},
	} {
		for i := range 20 {
			key := []string{"Authorization", "Bearer " + []string{"k", "other"}[i%2]}
			if g := r.do(op.method, op.path, "", key...); g.status == 429 {
				t.Fatalf("%s %s: refused at request %d", op.method, op.path, i)
			}
		}
		r.do(op.method, op.path, "").want(t, 429, "Throttling.RateQuota")
		r.do(op.method, op.path, "", "Authorization", "Bearer other").want(t, 429, "Throttling.RateQuota")
		r.do(op.method, op.path, "", "Authorization", "Bearer wrong").want(t, 401, "InvalidApiKey")
	}
	r.clock.Advance(999 * time.Millisecond)
	r.get(tasksPath).want(t, 429, "Throttling.RateQuota")
	r.clock.Advance(time.Millisecond)
	if g := r.get(tasksPath); g.status != 200 {
		t.Errorf("a second later: %d", g.status)
	}
	if g := r.post(textPath, say("hi", "")); g.status != 200 {
		t.Errorf("generations are not limited: %d", g.status)
	}
}

func TestTaskRateSetting(t *testing.T) {
	r := newRig(t, Config{TaskRate: 1})
	r.get(tasksPath)
	r.get(tasksPath).want(t, 429, "Throttling.RateQuota")
	r = newRig(t, Config{TaskRate: -1})
	for range 50 {
		if g := r.get(tasksPath); g.status != 200 {
			t.Fatalf("without a limit: %d", g.status)
		}
	}
}
