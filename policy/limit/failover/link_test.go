package failover

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
)

// inWorld runs a test in its own world, in simulated time.
func inWorld(t *testing.T, replicas int, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(story{start: "at noon", replicas: replicas, told: replicas})
		defer w.close()
		w.start()
		test(w)
	})
}

// tick lets seconds pass; in each of them every replica does its background work.
func (w *world) tick(seconds int) {
	for range seconds {
		time.Sleep(time.Second)
		w.tendAll()
	}
}

// A replica that crashes repeatedly while Redis works is charged only for its spending, and its allowance is free again
// after an hour and the lease.
func TestCrashesAreNotCharged(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			inWorld(t, replicas, func(w *world) {
				for range 5 {
					w.admit(w.replicas[0], kinds["a text"])
					w.tick(20)
					r := w.replicas[0]
					w.replicas[0] = nil
					r.wire.set(isAway, 0)
					w.former = append(w.former, r)
					w.tick(100)
					w.launch(0)
				}
				w.pass(11 * time.Minute)
				if aside := w.count("shop", "20000115:tokens:aside"); aside == 0 {
					t.Error("nothing is set aside for replicas that may return")
				}
				w.pass(time.Hour)
				if used := w.count("shop", "20000115:tokens:used") + w.count("shop", "20000115:tokens:held"); used != 5*30 {
					t.Errorf("%d tokens are used or held, want 150", used)
				}
				if aside := w.count("shop", "20000115:tokens:aside"); aside != 0 {
					t.Errorf("%d tokens are set aside, want none", aside)
				}
			})
		})
	}
}

// If one part of a cluster loses its memory, replicas without requests there restore their data all the same.
func TestAPartForgets(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		for _, r := range w.replicas {
			r.shared.Store.Cluster = true
		}
		counts := map[string]int{}
		for range 20 {
			w.judge(w.replicas[1], kinds["a task of 4 images"], counts, w.admit(w.replicas[1], kinds["a task of 4 images"]))
		}
		w.tick(70) // each has checked all teams
		for _, key := range w.server.Keys() {
			if strings.HasPrefix(key, "sl1:{search}") {
				w.server.Del(key)
			}
		}
		admitted := 0
		for range 10 {
			for range 10 {
				if w.admit(w.replicas[0], kinds["a task of 4 images"]).verdict.Held != nil {
					admitted++
				}
			}
			w.tick(1)
		}
		if admitted != 10 {
			t.Errorf("%d more tasks are admitted, want 10: 20 of 30 are open", admitted)
		}
	})
}

// On a slow network a turn of the background work is short however many teams there are.
func TestManyTeamsOverASlowNetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("500 teams in Redis's double")
	}
	const teams = 500
	doc := "teams:\n"
	for i := range teams {
		doc += fmt.Sprintf("  - id: t%d\n    quotas: {requests: {day: 1000}}\n", i)
	}
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		r.teams = readEdition(doc)
		for i := range teams {
			w.admit(r, kind{team: i, model: "m", endpoint: "text", amounts: limit.Amounts{1, 0, 0, 0}})
		}
		r.client.AddHook(slow{20 * time.Millisecond})
		longest := time.Duration(0)
		for range 90 {
			time.Sleep(time.Second)
			begun := time.Now()
			w.maintain(r)
			longest = max(longest, time.Since(begun))
		}
		if longest > redisstore.BeatGap {
			t.Errorf("a turn without a reply takes %v", longest)
		}
	})
}

// A team whose accounts cannot be read delays no other team's requests.
func TestABrokenTeamCostsOthersNothing(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		w.admit(r, kinds["a text"])
		w.admit(r, kinds["3 pictures"])
		w.server.Del("sl1:{shop}:open")
		_ = w.server.Set("sl1:{shop}:open", "x")
		calls := &callCount{}
		r.client.AddHook(calls)
		for range 10 {
			w.admit(r, kinds["a text"])
			before := calls.Load()
			w.admit(r, kinds["3 pictures"])
			if n := calls.Load() - before; n != 1 {
				t.Errorf("another team's request takes %d calls", n)
			}
		}
		if r.shared.away.Load() != nil {
			t.Error("Redis counts as away")
		}
	})
}

// callCount counts calls.
type callCount struct{ atomic.Int64 }

func (c *callCount) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *callCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.Add(1); return next(ctx, cmd) }
}
func (c *callCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.Add(1); return next(ctx, cmds) }
}

// TestClusterIsBackByACallAlone: while a whole cluster is away and a charge waits, nothing reports meanwhile that it is
// back.
func TestClusterIsBackByACallAlone(t *testing.T) {
	var changes []bool
	s := newHarness(t, limittest.FakeRedis(t), func(c *Config) {
		c.Store.Cluster = true
		c.Changed = func(away bool, _ time.Duration) { changes = append(changes, away) }
	})
	team := limittest.Team(t, "rates: {requests: {per: 1m, limit: 60}}")
	held := s.must("a", team, limit.Amounts{limit.Requests: 1})
	s.fault.mode.Store(away)
	s.queue.retain(job{charge: &limit.Charge{Held: held, Team: team, Amounts: limit.Amounts{limit.Requests: 1}}})
	for range 10 {
		s.clock.Move(time.Second)
		_ = s.Maintain(t.Context())
	}
	if len(changes) != 1 || !changes[0] {
		t.Errorf("Changed was called with %v, want once, that Redis is away", changes)
	}
}

// A cluster's process that has not reached Redis yet sends no charge: Redis would know the charge, and not the accounts.
func TestAClusterChargesNothingBeforeItsFirstBeat(t *testing.T) {
	s := newHarness(t, limittest.FakeRedis(t), func(c *Config) { c.Store.Cluster = true })
	s.fault.mode.Store(away)
	team := limittest.Team(t)
	used := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
	s.SettleLater(&limit.Charge{Held: s.must("a", team, used), Team: team, Amounts: used})
	s.fault.mode.Store(well)
	if err := s.queue.retry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if restored := s.teams.Get(team.ID).restored.Load(); restored == 0 {
		t.Error("a charge was sent, and the accounts were not looked at")
	}
	if st := s.look(team); st.Used[2*limit.Tokens] != 10 {
		t.Errorf("%d tokens were used, want 10", st.Used[2*limit.Tokens])
	}
}
