package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/policy/teams"
)

// One shard is down. Its teams go on without Redis, the others are not affected, whether the cluster gives up
// as a whole or not.
func TestOneShardDown(t *testing.T) {
	t.Parallel()
	for _, coverage := range []string{"no", "yes"} {
		t.Run("require-full-coverage-"+coverage, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3, 0, "--cluster-require-full-coverage", coverage)
			k := openReplica(t, c.url, func(s *settings.Settings) { s.RedisTimeout = redisTimeout }, generous)
			other := parseTeam(t, "other", generous)
			for n := 0; c.home(t, other.ID) == c.home(t, "search"); n++ {
				other = parseTeam(t, fmt.Sprintf("other%d", n), generous)
			}
			for n := 0; c.home(t, other.ID) == c.nodes[0] || c.home(t, other.ID) == c.home(t, "search"); n++ {
				other = parseTeam(t, fmt.Sprintf("other%d", n), generous)
			}
			asked := 0
			k.eventually(patience, "connected", func() bool {
				if !k.spend(10) || !k.as(other) {
					return false
				}
				asked++ // it may be asked again, if a slow call made the state bad
				return k.well()
			})
			k.prepared(other.ID)
			down := c.home(t, "search")
			down.signal(syscall.SIGSTOP)
			asked += k.besideADownShard(other, func() bool {
				return k.Degraded() && c.failed(t, c.home(t, other.ID), down, coverage == "yes")
			})
			charged := func() bool { return c.usedAt(t, other) == 10*int64(asked) }
			if coverage == "no" { // the other team's shard works on
				k.eventually(patience, "the other team's charges are in its shard", charged)
			}
			down.signal(syscall.SIGCONT)
			k.eventually(patience, "back", k.well)
			k.eventually(patience, "every charge is there", charged)
		})
	}
}

// besideADownShard alternates requests of a team whose shard is down and of another, until the shard has counted as down for a
// second. Neither is refused, and nine of ten requests of the other team end before a timeout that begins with them. It returns how often
// the other was admitted.
func (k *ledgerkeeper) besideADownShard(other *teams.Team, down func() bool) (admitted int) {
	k.Helper()
	var took []time.Duration
	var slower atomic.Int64 // requests that ended after their timeout
	var waiting sync.WaitGroup
	var end time.Time
	for begun := time.Now(); end.IsZero() || time.Now().Before(end); time.Sleep(time.Millisecond) {
		if end.IsZero() && down() {
			end = time.Now().Add(time.Second)
		}
		if end.IsZero() && time.Since(begun) > patience {
			k.Fatalf("the shard is not down: %v\n%s", k.State(), k.log.text())
		}
		if !k.spend(10) {
			k.Fatalf("the shard's own team is refused: %v", k.State())
		}
		var done atomic.Bool
		waiting.Go(func() {
			if time.Sleep(k.timeout); !done.Load() {
				slower.Add(1)
			}
		})
		one := time.Now()
		if !k.as(other) {
			k.Fatalf("another shard's team is refused: %v", k.State())
		}
		done.Store(true)
		took = append(took, time.Since(one))
		admitted++
	}
	waiting.Wait()
	p99 := percentile(took, 0.99)
	k.Logf("of %d requests of the other team %d ended after a timeout of %v; p99 %v", admitted, slower.Load(), k.timeout, p99)
	if 10*int(slower.Load()) > admitted || isLong() && p99 > 5*time.Millisecond*slack {
		k.Error("the other team waits for the timeout of the shard that is down")
	}
	return admitted
}

// usedAt reads from a team's node how many tokens it has used: that node may be the only one that answers.
func (c *cluster) usedAt(t *testing.T, team *teams.Team) int64 {
	t.Helper()
	node := c.home(t, team.ID)
	used, _ := usedIn(node.admin, team.ID, "tokens")
	return used
}

// failed reports whether a node knows that another is down and, if whole, counts the whole cluster as down.
func (c *cluster) failed(t *testing.T, node, other *redisServer, whole bool) bool {
	t.Helper()
	for line := range strings.Lines(node.do("CLUSTER", "NODES").(string)) {
		if strings.Contains(line, other.address()+"@") && strings.Contains(line, "fail") && !strings.Contains(line, "fail?") {
			return strings.Contains(node.do("CLUSTER", "INFO").(string), "cluster_state:fail") == whole
		}
	}
	return false
}
