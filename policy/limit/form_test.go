package limit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/teams"
)

// The three forms of the accounts: in memory, in a real Redis, and in the double that stands in where no redis-server
// is installed. One contract holds for all.
type form struct {
	*testing.T
	name   string
	clock  *testClock
	memory *Memory
	redis  *Redis
	client redis.UniversalClient
	epoch  map[string]int64 // by team, as a caller would remember it
	before func()           // called before each step of a history; nil: nothing is
	// lenient: what fails panics, for the caller to recover.
	lenient bool
}

func newMemoryForm(t *testing.T) *form {
	c := newClock()
	return &form{T: t, name: "memory", clock: c, memory: NewMemory(c.now)}
}

func newRedisForm(t *testing.T, client redis.UniversalClient) *form {
	c := newClock()
	r := NewRedis(client)
	r.clock, r.now = c.micros, c.wrong
	return &form{T: t, name: "redis", clock: c, redis: r, client: client, epoch: map[string]int64{}}
}

// forms runs a test over every form.
func forms(t *testing.T, test func(f *form)) {
	t.Run("memory", func(t *testing.T) { test(newMemoryForm(t)) })
	t.Run("redis", func(t *testing.T) { test(newRedisForm(t, realRedis(t))) })
	t.Run("miniredis", func(t *testing.T) { test(newRedisForm(t, fakeRedis(t))) })
}

// fail ends the test, or the history where the form is lenient.
func (f *form) fail(format string, args ...any) {
	f.Helper()
	if f.lenient {
		panic(fmt.Sprintf(format, args...))
	}
	f.Fatalf(format, args...)
}

func (f *form) admit(h Hold) standing {
	f.Helper()
	s, err := f.tryAdmit(h)
	if err != nil {
		f.fail("%s: admit %+v: %v", f.name, h, err)
	}
	return s
}

func (f *form) tryAdmit(h Hold) (standing, error) {
	t := termsOf(h.Team)
	if h.Lease == 0 {
		h.Lease = time.Hour
	}
	if f.memory != nil {
		s, err := f.memory.admit(&h, &t)
		return standing{state: s}, err
	}
	s, err := f.redis.admit(context.Background(), &h, &t, &Loan{}, witness{epoch: f.epoch[h.Team.ID]})
	if err == nil && s.outcome != lost {
		f.epoch[h.Team.ID] = s.epoch
	}
	return s, err
}

func (f *form) held(h Hold) *Held {
	date, t := calendarOf(f.clock.now()), termsOf(h.Team)
	rates := t.rateSet()
	return &Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts, Day: date.day, Month: date.month, Task: h.Task, rates: rates}
}

func (f *form) settle(h *Held, team *teams.Team, used Amounts, estimated bool) bool {
	f.Helper()
	done, err := f.trySettle(h, team, used, estimated)
	if err != nil {
		f.fail("%s: settle %+v: %v", f.name, h, err)
	}
	return done
}

func (f *form) trySettle(h *Held, team *teams.Team, used Amounts, estimated bool) (bool, error) {
	c := &Charge{Held: h, Team: team, Amounts: used, Estimated: estimated}
	if f.memory != nil {
		t := termsOf(team)
		return f.memory.settle(c, &t)
	}
	return f.redis.settle(context.Background(), c, used, false)
}

func (f *form) extend(h *Held, lease time.Duration) {
	f.Helper()
	var err error
	if f.memory != nil {
		err = f.memory.Extend(context.Background(), h, lease)
	} else {
		_, err = f.redis.extend(context.Background(), h, lease)
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
		n, err = f.redis.sweep(context.Background(), team, 100)
	}
	if err != nil {
		f.fail("%v", err)
	}
	return n
}

// look reads a team's accounts and changes nothing.
func (f *form) look(team *teams.Team) standing {
	f.Helper()
	return f.admit(Hold{Team: team})
}
