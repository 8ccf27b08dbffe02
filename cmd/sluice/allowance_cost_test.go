package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// asked counts the commands that a client sends, by name, without those that only check whether Redis answers.
type asked struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *asked) note(cmds ...redis.Cmder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cmd := range cmds {
		if name := cmd.Name(); !slices.Contains([]string{"hello", "ping", "info", "client", "select"}, name) {
			a.counts[name]++
		}
	}
}

func (a *asked) total() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, count := range a.counts {
		n += count
	}
	return n
}

// DialHook does not change dialling.
func (a *asked) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook notes a command.
func (a *asked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { a.note(cmd); return next(ctx, cmd) }
}

// ProcessPipelineHook notes the commands of a round trip.
func (a *asked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { a.note(cmds...); return next(ctx, cmds) }
}

// costly are the accounts of replicas whose Maintain and clock the test drives.
type costly struct {
	*testing.T
	server *redisServer
	teams  []*teams.Team
	shared []*failover.Failover
	asked  *asked
	off    atomic.Int64
	n      int
}

func newCostly(t *testing.T, replicas, count int) *costly {
	t.Helper()
	c := &costly{T: t, server: startRedis(t), asked: &asked{counts: map[string]int{}}}
	doc := "teams:\n"
	for n := range count {
		doc += fmt.Sprintf("  - id: team%d\n    quotas: {requests: {day: 1000000}, tokens: {month: 1000000000}, images: {day: 100000}}\n    "+
			"open_tasks: 1000\n", n)
	}
	read, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	c.teams = read.List
	s, _ := settings.Load(nil)
	s.RedisURL, s.Replicas, s.RedisTimeout = upstream.Secret(c.server.url()), replicas, patience
	for range replicas {
		log := slog.New(slog.DiscardHandler)
		client := openRedis(s, log, nil, 0, nil)
		shared := sharedBalances(client, s, unit.Nanos, log, func() time.Time { return time.Now().Add(time.Duration(c.off.Load())) })
		client.AddHook(c.asked)
		c.shared = append(c.shared, shared)
		t.Cleanup(func() {
			_ = shared.Close(context.Background())
			_ = client.Close()
		})
	}
	c.maintain() // the replicas and the teams
	return c
}

// maintain does every replica's work of one second.
func (c *costly) maintain() {
	c.Helper()
	for _, shared := range c.shared {
		if err := shared.Maintain(c.Context()); err != nil {
			c.Fatal(err)
		}
	}
}

// spend admits and settles one request of a team at a replica.
func (c *costly) spend(replica int, team *teams.Team) *limit.Held {
	c.Helper()
	c.n++
	v, err := c.shared[replica].Admit(c.Context(), &limit.Hold{
		ID: fmt.Sprintf("r-%d", c.n), Team: team, Model: "llm-max", Endpoint: policy.EndpointText,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 30}, Lease: time.Minute,
	})
	if err != nil || v.Held == nil {
		c.Fatal(v, err)
	}
	return v.Held
}

// cpu is Redis's CPU time so far.
func (c *costly) cpu() (all time.Duration) {
	c.Helper()
	for line := range strings.Lines(c.server.do("INFO", "cpu").(string)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var seconds float64
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			if _, err := fmt.Sscan(value, &seconds); err != nil {
				c.Fatal(err)
			}
			all += time.Duration(seconds * float64(time.Second))
		}
	}
	return all
}

// TestARequestIsOneCallOfRedis: a request is one call of Redis. Allowances are set aside, given back and posted in the background.
func TestARequestIsOneCallOfRedis(t *testing.T) {
	t.Run("one call for each admission", func(t *testing.T) {
		c := newCostly(t, 1, 1)
		c.spend(0, c.teams[0]) // a team's first request may send more
		c.maintain()
		before := c.asked.total()
		for range 200 {
			c.spend(0, c.teams[0])
		}
		if n := c.asked.total() - before; n != 200 {
			t.Errorf("200 admissions took %d commands: %v", n, c.asked.counts)
		}
	})
	t.Run("what goes on behind them", renewals)
}

// renewals counts the commands of replicas in a minute in which every team is active at each. The page's figure is a
// hundredth of Redis's time for a thousand teams and three replicas: LONG=1 go test -v -run TestARequestIsOneCallOfRedis ./cmd/sluice.
func renewals(t *testing.T) {
	const replicas, seconds = 3, 60
	teams := 100
	if isLong() {
		teams = 1000
	}
	c := newCostly(t, replicas, teams)
	commands, worked := 0, time.Duration(0)
	for second := range 2 * seconds { // the first minute makes all replicas and teams known
		if second%10 == 0 {
			for replica := range replicas {
				for _, team := range c.teams {
					c.shared[replica].SettleLater(&limit.Charge{Held: c.spend(replica, team), Team: team,
						Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 30}})
				}
			}
			time.Sleep(100 * time.Millisecond) // they are sent within a moment
		}
		c.off.Add(int64(time.Second))
		before, workedBefore := c.asked.total(), c.cpu()
		c.maintain()
		if second >= seconds {
			commands += c.asked.total() - before
			worked += c.cpu() - workedBefore
		}
	}
	each := float64(commands) / replicas / float64(teams)
	part := worked.Seconds() / seconds
	t.Logf("%d teams active at %d replicas: %d commands a minute, %.1f for each team and replica; Redis works %.2f %% of its time for them",
		teams, replicas, commands, each, 100*part)
	if each > 12 {
		t.Errorf("%.1f commands a minute for each team and replica, want 6 renewals and little beside them", each)
	}
	if isLong() && part > 0.01 {
		t.Errorf("Redis works %.2f %% of its time for renewals, want at most 1 %%", 100*part)
	}
}
