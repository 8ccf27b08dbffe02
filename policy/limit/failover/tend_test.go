package failover

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// isRenewal reports whether a call renews allowances: no other has their key behind five.
func isRenewal(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 8 && args[8] == "sl1:{search}:aside"
}

// onScript counts renewals.
type onScript struct{ runs int }

func (c *onScript) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *onScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}
func (c *onScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds...)
		return next(ctx, cmds)
	}
}

func (c *onScript) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if isRenewal(cmd) {
			c.runs++
		}
	}
}

// A team is renewed for as long as it is active, which is a minute from its last request, and no longer.
func TestMend16AnIdleTeamIsNotRenewed(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	renewals := &onScript{}
	client.AddHook(renewals)
	s.must("a", limittest.Team(t, "quotas: {images: {day: 100}}"), limit.Amounts{limit.Requests: 1})
	tend := func(after time.Duration) int {
		s.clock.Move(after)
		before := renewals.runs
		if err := s.Tend(t.Context()); err != nil {
			t.Error(err)
		}
		return renewals.runs - before
	}
	if n := tend(50 * time.Second); n == 0 {
		t.Error("after 50 seconds it is not renewed")
	}
	if n := tend(11 * time.Second); n != 1 {
		t.Errorf("after more than a minute its allowance is given back %d times", n)
	}
	if aside := client.HLen(t.Context(), "sl1:{search}:aside").Val(); aside != 1 { // the number of the call
		t.Errorf("%d fields are left of what was set aside", aside)
	}
	for range 3 {
		if n := tend(11 * time.Second); n != 0 {
			t.Errorf("later it is renewed %d times", n)
		}
	}
}

// The list of teams is lost with one shard of a cluster, while the teams' own memory stays. Whoever knows a team lists it
// again, also one that asks for nothing any more, and reports over all teams have their rows.
func TestMend22TheListOfTeamsIsWrittenAgain(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		ctx, team := s.Context(), limittest.Team(s)
		s.client.SAdd(ctx, "sl1:teams", "removed") // from no teams file, and known to nobody but the list
		s.charge(s.must("a", team, limit.Amounts{limit.Requests: 1}), team, limit.Amounts{limit.Requests: 1})
		s.settled()
		if err := s.Tend(ctx); err != nil {
			s.Fatal(err)
		}
		s.client.Del(ctx, "sl1:teams")
		if rows, _ := s.Ledger(ctx, "", []int{20261121}); len(rows) != 0 {
			s.Fatalf("the list is not lost: %+v", rows)
		}
		s.clock.Move(time.Minute)
		if err := s.Tend(ctx); err == nil || !strings.Contains(err.Error(), "list of teams") {
			s.Errorf("the operator is not told: %v", err)
		}
		if err := s.Tend(ctx); err != nil {
			s.Errorf("told again: %v", err)
		}
		if rows, err := s.Ledger(ctx, "", []int{20261121}); err != nil || len(rows) != 1 || rows[0].Team != "search" {
			s.Errorf("the report has %+v, %v", rows, err)
		}
		names, err := s.client.SMembers(ctx, "sl1:teams").Result()
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"removed", "search"}) {
			s.Errorf("the list has %q, %v", names, err)
		}
	})
}
