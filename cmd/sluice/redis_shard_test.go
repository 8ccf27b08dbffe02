package main

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
			k := openReplica(t, c.url, nil, generous)
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
// second. Neither is refused, and the other team waits for no timeout. It returns how often the other was admitted.
func (k *ledgerkeeper) besideADownShard(other *teams.Team, down func() bool) (admitted int) {
	k.Helper()
	var took, waited []time.Duration
	var mu sync.Mutex
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
		one := time.Now()
		waiting.Go(func() {
			time.Sleep(k.timeout)
			mu.Lock()
			defer mu.Unlock()
			waited = append(waited, time.Since(one))
		})
		if !k.as(other) {
			k.Fatalf("another shard's team is refused: %v", k.State())
		}
		took = append(took, time.Since(one))
		admitted++
	}
	waiting.Wait()
	p90, p99, timeout := percentile(took, 0.9), percentile(took, 0.99), percentile(waited, 0.9)
	if k.Logf("p90, p99 of the other team %v, %v, when the timeout took %v", p90, p99, timeout); p90 >= timeout || isLong() && p99 > 5*time.Millisecond*slack {
		k.Errorf("p90, p99 of the other team %v, %v, when the timeout took %v", p90, p99, timeout)
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
