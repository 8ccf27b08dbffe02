package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// redisForms runs a test over the forms whose clock can go back: memory's own never does.
func redisForms(t *testing.T, test func(f *form)) {
	limittest.Redises(t, func(t *testing.T, client redis.UniversalClient) { test(newRedisForm(t, client)) })
}

// Redis's clock goes back. A team waits for its possible debt and one refill at most, and no longer than the refusal said.
func TestClockGoesBack(t *testing.T) {
	for _, back := range []time.Duration{time.Millisecond, time.Second, 59 * time.Second, time.Hour, 400 * 24 * time.Hour} {
		redisForms(t, func(f *form) {
			team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 60}}")
			for n := range 60 {
				f.admit(hold(id(n), team, limit.Amounts{limit.Requests: 1}))
			}
			f.clock.Move(-back)
			s := f.admit(hold("a", team, limit.Amounts{limit.Requests: 1}))
			if s.Outcome != limit.Refused || s.Wait > min(time.Second+back, time.Minute+time.Second) {
				t.Errorf("back by %v: %v to wait", back, s.Wait)
			}
			f.clock.Move(s.Wait)
			if s := f.admit(hold("b", team, limit.Amounts{limit.Requests: 1})); s.Outcome != limit.Admitted {
				t.Errorf("back by %v: not admitted after the wait that was told: %+v", back, s)
			}
		})
	}
}

// Redis's clock goes forward by an hour: that gives one full bucket at most, and the day ends early at most.
func TestClockGoesForward(t *testing.T) {
	redisForms(t, func(f *form) {
		team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 60, burst: 30}}", "quotas: {requests: {day: 100}}")
		admittedOf := func(n int) (passed int) {
			for range n {
				if f.admit(hold(fmt.Sprint("r", f.clock.Micros(), passed), team, limit.Amounts{limit.Requests: 1})).Outcome == limit.Admitted {
					passed++
				}
			}
			return passed
		}
		if n := admittedOf(100); n != 30 {
			t.Errorf("%d admitted of a bucket of 30", n)
		}
		f.clock.Move(time.Hour)
		if n := admittedOf(100); n != 30 {
			t.Errorf("%d admitted after the clock's jump, more than a bucket", n)
		}
		f.clock.Move(-time.Hour)
		if s := f.look(team); s.Used[0]+s.Held[0] != 60 {
			t.Errorf("the day has %d, want 60", s.Used[0]+s.Held[0])
		}
	})
}

// Replicas of two versions share the accounts: their scripts have different digests, and any history leaves the
// accounts as the model has them, whichever version makes each step.
func TestMixedVersions(t *testing.T) {
	teams := readTeams(t, modelTeams)
	client := limittest.RealRedis(t)
	all := []**script{&admitScript, &lookScript, &batchScript, &settleScript, &extendScript, &sweepScript}
	var now, then []*script
	for _, s := range all {
		now, then = append(now, *s), append(then, scriptOf("-- the version before\n"+(*s).source))
	}
	use := func(version []*script) {
		for i := range all {
			*all[i] = version[i]
		}
	}
	defer use(now)
	rapid.Check(t, func(rt *rapid.T) {
		client.FlushDB(t.Context())
		f := newRedisForm(t, client)
		var n atomic.Int64
		f.before = func() { use([][]*script{now, then}[n.Add(1)%2]) }
		if err := f.play(histories.Draw(rt, "history"), teams); err != nil {
			rt.Fatal(err)
		}
	})
}
