package failover

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// What is used without Redis is posted to its tags once Redis is back, whether it was settled meanwhile or not.
func TestTagsOutliveAnOutage(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t)
	one := limit.Amounts{limit.Requests: 1, limit.Tokens: 5}
	s.must("seen", team, limit.Amounts{})
	s.back() // it has an allowance from now on
	admit := func(id, tag string) *limit.Held {
		h := hold(id, team, one)
		h.Tag, h.Lease = tag, time.Hour
		v, err := s.Failover.Admit(s.Context(), &h)
		if err != nil || v.Held == nil {
			t.Fatal(id, v, err)
		}
		return v.Held
	}
	before := admit("before", "alpha")
	s.fault.mode.Store(away)
	for n, tag := range []string{"alpha", "alpha", "beta", ""} {
		s.charge(admit("settled-"+strconv.Itoa(n), tag), team, one)
		s.clock.Move(time.Millisecond)
	}
	runs := admit("runs", "beta")
	s.charge(before, team, one)
	s.back()
	s.charge(runs, team, one)
	s.settled()
	rows, err := s.Rows(s.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}, By: limit.ScopeTag})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]limit.Amounts{}
	for _, row := range rows {
		used[row.Tag] = row.Used
	}
	want := map[string]limit.Amounts{
		"alpha": {limit.Requests: 3, limit.Tokens: 15},
		"beta":  {limit.Requests: 2, limit.Tokens: 10},
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
