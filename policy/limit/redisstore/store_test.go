package redisstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// The three forms of the accounts: in memory, in a real Redis, and in a double if no redis-server is installed. One
// contract applies to all.
type form struct {
	*testing.T
	name   string
	clock  *limittest.Clock
	memory *limit.Memory
	redis  *Store
	client redis.UniversalClient
	epoch  map[string]int64 // by team, as a caller remembers it
	before func()           // called before each step of a history; nil: nothing is called
	uses   int64
	// lenient: a failure panics, and the caller recovers.
	lenient bool
}

func newMemoryForm(t *testing.T) *form {
	c := limittest.NewClock()
	return &form{T: t, name: "memory", clock: c, memory: limit.NewMemory(c.Now)}
}

func newRedisForm(t *testing.T, client redis.UniversalClient) *form {
	c := limittest.NewClock()
	r := New(client)
	r.Clock, r.Now = c.Micros, c.Wrong
	return &form{T: t, name: "redis", clock: c, redis: r, client: client, epoch: map[string]int64{}}
}

// forms runs a test over every form.
func forms(t *testing.T, test func(f *form)) {
	t.Run("memory", func(t *testing.T) { test(newMemoryForm(t)) })
	redisForms(t, test)
}

// fail ends the test, or only the history if the form is lenient.
func (f *form) fail(format string, args ...any) {
	f.Helper()
	if f.lenient {
		panic(fmt.Sprintf(format, args...))
	}
	f.Fatalf(format, args...)
}

func (f *form) admit(h limit.Hold) versionedState {
	f.Helper()
	s, err := f.tryAdmit(h)
	if err != nil {
		f.fail("%s: admit %+v: %v", f.name, h, err)
	}
	return s
}

func (f *form) tryAdmit(h limit.Hold) (versionedState, error) {
	t := limit.TermsFor(h.Team, h.Key)
	if h.Lease == 0 {
		h.Lease = time.Hour
	}
	if f.memory != nil {
		s, err := f.memory.Place(&h, &t)
		return versionedState{State: s}, err
	}
	if h.ID == "" {
		s, err := f.redis.Look(context.Background(), h.Team)
		return versionedState{State: s}, err
	}
	s, err := f.redis.admit(context.Background(), &h, &Loan{}, version{epoch: f.epoch[h.Team.ID]})
	if err == nil {
		f.epoch[h.Team.ID] = s.epoch
	}
	return s, err
}

func (f *form) held(h limit.Hold) *limit.Held {
	date, t := limit.CalendarOf(f.clock.Now()), limit.TermsFor(h.Team, h.Key)
	rates := t.RateSet()
	return &limit.Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Tag: h.Inner(limit.ScopeTag),
		Key: h.Inner(limit.ScopeKey), Amounts: h.Amounts, Day: date.Day, Month: date.Month, Task: h.Task, Rates: rates}
}

func (f *form) settle(h *limit.Held, team *teams.Team, used limit.Amounts, estimated bool) bool {
	f.Helper()
	done, err := f.trySettle(h, team, used, estimated)
	if err != nil {
		f.fail("%s: settle %+v: %v", f.name, h, err)
	}
	return done
}

func (f *form) trySettle(h *limit.Held, team *teams.Team, used limit.Amounts, estimated bool) (bool, error) {
	return f.tryCharge(&limit.Charge{Held: h, Team: team, Amounts: used, Estimated: estimated})
}

func (f *form) tryCharge(c *limit.Charge) (bool, error) {
	if f.memory != nil {
		t := limit.TermsFor(c.Team, c.Held.Key.Name())
		return f.memory.Post(c, &t)
	}
	came := f.redis.SettleAll(context.Background(), []*limit.Charge{c}, false)[0]
	return came.Done, came.Err
}

func (f *form) extend(h *limit.Held, lease time.Duration) {
	f.Helper()
	var err error
	if f.memory != nil {
		err = f.memory.Extend(context.Background(), h, lease)
	} else {
		err = f.redis.Extend(context.Background(), h, lease)
	}
	if err != nil {
		f.fail("%v", err)
	}
}

func (f *form) sweep(team string) int {
	f.Helper()
	var n int
	var err error
	if f.memory != nil {
		n, err = f.memory.Sweep(context.Background(), team, 100)
	} else {
		n, err = f.redis.Sweep(context.Background(), team, 100)
	}
	if err != nil {
		f.fail("%v", err)
	}
	return n
}

// look reads a team's accounts and changes nothing.
func (f *form) look(team *teams.Team) versionedState {
	f.Helper()
	return f.admit(limit.Hold{Team: team})
}

func hold(id string, team *teams.Team, amounts limit.Amounts) limit.Hold {
	return limit.Hold{ID: id, Team: team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: amounts}
}

func id(n int) string { return fmt.Sprintf("h%d", n) }
