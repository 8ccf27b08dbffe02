package failover

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// A charge for which the queue has no room is reported as dropped, or its caller would wait for ever. It is not reported as
// taken.
func TestTooManyToKeep(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	s.queue.most = 2
	team := limittest.Team(t)
	held := []*limit.Held{s.must("a", team, limit.Amounts{limit.Requests: 1}), s.must("b", team, limit.Amounts{limit.Requests: 1}),
		s.must("c", team, limit.Amounts{limit.Requests: 1})}
	s.fault.mode.Store(away)
	told, left := make([]took, len(held)), make([]int, len(held))
	for n, h := range held {
		c := told[n].charge(h, team, limit.Amounts{limit.Requests: 1})
		c.Left = func() { left[n]++ }
		s.SettleLater(c)
		s.settled()
	}
	if left[0] != 1 || left[1] != 0 || left[2] != 0 {
		t.Errorf("%v callers learn that their charges were dropped", left)
	}
	told[0].wants(t, "the oldest", took{})
	told[1].wants(t, "one that is kept", took{})
	s.fault.mode.Store(well)
	if err := s.Maintain(s.Context()); err == nil {
		t.Error("the loss of one is not reported")
	}
	told[0].wants(t, "the oldest", took{})
	told[2].wants(t, "one that was kept", took{first: 1})
}

// The extensions of one hold become one, the longest: they displace no charges.
func TestExtensionsAreKeptOnce(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	s.queue.most = 2
	team := limittest.Team(t)
	charged := new(took)
	a, b := s.must("a", team, limit.Amounts{limit.Requests: 1}), s.must("b", team, limit.Amounts{limit.Requests: 1})
	s.fault.mode.Store(away)
	s.SettleLater(charged.charge(a, team, limit.Amounts{limit.Requests: 1}))
	s.settled()
	for _, lease := range []time.Duration{2 * time.Hour, 25 * time.Hour, 3 * time.Hour} {
		_ = s.Extend(s.Context(), b, lease)
		s.settled()
	}
	charged.wants(t, "kept", took{})
	s.back()
	charged.wants(t, "taken", took{first: 1})
	s.clock.Move(24 * time.Hour)
	s.sweep("search")
	if st := s.look(team); st.Used[2*limit.Requests+1] != 1 || st.Held[2*limit.Requests+1] != 1 { // of the month
		t.Errorf("used %v, held %v: the longest lease was lost", st.Used, st.Held)
	}
}

// The true use of a hold replaces the estimate charged at the end of its lease, also if it is known late and Redis received
// neither.
func TestTheTruthComesAfterTheLeaseWhileRedisIsAway(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team, charged := limittest.Team(t), new(took)
	s.must("seen", team, limit.Amounts{})
	s.fault.mode.Store(away)
	h := s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 5})
	s.clock.Move(2 * time.Hour)
	s.SettleLater(charged.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 3}))
	s.settled()
	s.back()
	s.settled()
	charged.wants(t, "the truth", took{first: 1})
	if st := s.look(team); st.Used[2*limit.Tokens] != 3 || st.Used[2*limit.Requests] != 1 {
		t.Errorf("used %v, want 3 tokens of 1 request", st.Used)
	}
}

// FK1: a hold that was made, and whose lease ended, without Redis is charged, however long Redis was away.
func TestALongOutageChargesWhatLapsed(t *testing.T) {
	for _, outage := range []time.Duration{2 * time.Hour, 26 * time.Hour} {
		s := newHarness(t, limittest.RealRedis(t), nil)
		team := limittest.Team(t)
		s.must("seen", team, limit.Amounts{})
		s.fault.mode.Store(away)
		s.must(fmt.Sprintf("%08x-%04x-7000-8000-000000000001", s.clock.Now().UnixMilli()>>16, s.clock.Now().UnixMilli()&0xffff), team,
			limit.Amounts{limit.Requests: 1, limit.Tokens: 5})
		s.clock.Move(outage)
		s.back()
		s.settled()
		s.sweep("search")
		days := []int{limit.CalendarOf(s.clock.Now().Add(-outage)).Day, limit.CalendarOf(s.clock.Now()).Day}
		rows, err := s.Rows(s.Context(), limit.Query{Teams: []string{"search"}, Days: slices.Compact(days)})
		if err != nil {
			t.Fatal(err)
		}
		tokens := int64(0)
		for _, r := range rows {
			tokens += r.Used[limit.Tokens]
		}
		if tokens != 5 {
			t.Errorf("after %v without Redis %d tokens are charged, want 5", outage, tokens)
		}
	}
}

// A round in which a call panics loses nothing that was kept, and charges nothing twice.
func TestARoundThatPanicsKeepsAll(t *testing.T) {
	var panics atomic.Int64
	s := newHarness(t, limittest.FakeRedis(t), fenced(&panics))
	team, one, send := limittest.Team(t), limit.Amounts{limit.Requests: 1}, s.queue.send
	for n := range 3 * queueBatch {
		s.queue.retain(job{charge: &limit.Charge{Held: s.must(fmt.Sprint(n), team, one), Team: team, Amounts: one}})
	}
	rounds := 0
	s.queue.send = func(ctx context.Context, batch []job) []error {
		if rounds++; rounds == 2 {
			_ = send(ctx, batch)
			panic("after Redis took them")
		}
		return send(ctx, batch)
	}
	err := s.queue.retry(t.Context())
	if st := s.look(team); err != nil || panics.Load() != 1 || s.queue.waiting() != 0 || st.Used[2*limit.Requests] != 3*queueBatch {
		t.Errorf("%d panics, %d wait, %d are charged: %v", panics.Load(), s.queue.waiting(), st.Used[2*limit.Requests], err)
	}
}

// Clients invent tags, also while Redis is away: beyond a number of sums their use is added to one, and none of it is lost.
func TestSumsAreBounded(t *testing.T) {
	q := &queue{sums: map[sumOf]*limit.Charge{}}
	team := limittest.Team(t)
	for n := range 4 * mostSums {
		h := &limit.Held{Team: team.ID, Day: 20261121, Model: "m", Endpoint: "text", Tag: limit.Inner(fmt.Sprint("t", n))}
		if n >= 2*mostSums {
			h.Model, h.Tag = string(h.Tag), ""
		}
		q.sum(&limit.Charge{Held: h, Team: team, Amounts: limit.Amounts{limit.Requests: 1}})
	}
	var all int64
	for _, c := range q.sums {
		all += c.Amounts[limit.Requests]
	}
	if all != 4*mostSums || len(q.sums) > 2*mostSums+10 {
		t.Errorf("%d sums of %d requests, want %d requests", len(q.sums), all, 4*mostSums)
	}
}
