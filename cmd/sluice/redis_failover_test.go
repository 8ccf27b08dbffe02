package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// sentinels are one master, two replicas, three sentinels.
type sentinels struct {
	servers []*redisServer // the first is the master at the start
	url     string
}

func startSentinels(t *testing.T, args ...string) *sentinels {
	t.Helper()
	s := &sentinels{}
	master := startRedis(t, args...)
	s.servers = append(s.servers, master)
	for range 2 {
		s.servers = append(s.servers, startRedis(t, append([]string{"--replicaof", "127.0.0.1 " + fmt.Sprint(master.port)}, args...)...))
	}
	var hosts []string
	for range 3 {
		sentinel := startRedis(t, "--sentinel", fmt.Sprintf("sentinel monitor sluice 127.0.0.1 %d 2", master.port),
			"sentinel down-after-milliseconds sluice 1500", "sentinel failover-timeout sluice 2000", "sentinel parallel-syncs sluice 2")
		hosts = append(hosts, sentinel.address())
	}
	s.url = "redis+sentinel://" + strings.Join(hosts, ",") + "/sluice"
	s.eventually(t, "replicas follow", func() bool {
		return strings.Contains(master.do("INFO", "replication").(string), "connected_slaves:2")
	})
	return s
}

func (s *sentinels) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal(what)
		}
	}
}

// master is the server that takes writes now.
func (s *sentinels) master(t *testing.T) *redisServer {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		for _, server := range s.servers {
			if server.process == nil {
				continue
			}
			info, err := server.admin.Info(context.Background(), "replication").Result()
			if err == nil && strings.Contains(info, "role:master") && strings.Contains(info, "connected_slaves:1") {
				return server
			}
		}
	}
	t.Fatal("there is no master")
	return nil
}

// offsets returns how much a master has written, and how much each of its replicas has received.
func (s *redisServer) offsets() (master int64, replicas []int64) {
	s.Helper()
	for _, m := range regexp.MustCompile(`(slave\d|master_repl)[^\n]*offset[=:](\d+)`).
		FindAllStringSubmatch(s.do("INFO", "replication").(string), -1) {
		offset, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			s.Fatal(err)
		}
		if m[1] == "master_repl" {
			master = offset
		} else {
			replicas = append(replicas, offset)
		}
	}
	return master, replicas
}

// The master is killed and a replica takes its place. Requests go on, and the new master has every charge.
func TestMasterIsKilled(t *testing.T) {
	t.Parallel()
	house := startSentinels(t)
	k := openReplica(t, house.url, nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	admitted := int64(1)
	for range 100 {
		if k.spend(10) {
			admitted++
		}
	}
	old := house.servers[0]
	k.prepared()
	k.eventually(patience, "settled", func() bool { _, held := k.used(old, "tokens"); return held == 0 })
	at, _ := old.offsets() // behind all charges; later writes need not be waited for
	house.eventually(t, "replicas caught up", func() bool {
		_, replicas := old.offsets()
		return len(replicas) == 2 && slices.Min(replicas) >= at
	})
	old.kill()
	for range 400 {
		if !k.spend(10) {
			t.Fatalf("refused: %v", k.State())
		}
		admitted++
		time.Sleep(10 * time.Millisecond) // four seconds, longer than the failover takes
	}
	k.eventually(patience, "back", k.well)
	master := house.master(t)
	if master == old || k.log.count("Redis is away") == 0 {
		t.Errorf("the master was not lost:\n%s", k.log.text())
	}
	var used, held int64
	defer func() { t.Logf("%d tokens used, %d held, of %d", used, held, admitted*10) }()
	k.eventually(patience, "every charge is there", func() bool {
		used, held = k.used(master, "tokens")
		return used == admitted*10 && held == 0
	})
}

// A master without replicas refuses writes if Redis is configured so; teams continue without it.
func TestMasterWithoutReplicas(t *testing.T) {
	t.Parallel()
	server := startRedis(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+fmt.Sprint(server.port))
	k := openReplica(t, server.url(), nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	replica.signal(syscall.SIGSTOP)
	n := int64(0)
	k.eventually(patience, "away", func() bool {
		if k.spend(10) {
			n++
		}
		return k.Degraded()
	})
	replica.signal(syscall.SIGCONT)
	k.eventually(patience, "back", k.well)
	if n == 0 {
		t.Error("nothing was admitted meanwhile")
	}
}

// The old master becomes a replica. The connections to it are dropped, and the new master is found.
func TestMasterIsDemoted(t *testing.T) {
	t.Parallel()
	house := startSentinels(t)
	k := openReplica(t, house.url, nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	house.servers[0].do("CLIENT", "NO-EVICT", "on")
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: strings.Split(strings.TrimPrefix(house.url, "redis+sentinel://"), ",")[0]})
	defer func() { _ = sentinel.Close() }()
	house.eventually(t, "failover", func() bool { return sentinel.Failover(context.Background(), "sluice").Err() == nil })
	house.eventually(t, "demoted", func() bool {
		k.spend(10)
		return strings.Contains(house.servers[0].do("INFO", "replication").(string), "role:slave")
	})
	back := k.eventually(patience, "back, without a restart", func() bool { return k.spend(10) && k.well() })
	if t.Logf("back after %v", back); isLong() && back > time.Second*slack {
		t.Errorf("back after %v", back)
	}
}

// cluster is six nodes: three masters, each with a replica.
type cluster struct {
	nodes  []*redisServer
	url    string
	client *redis.ClusterClient // the test itself
}

func startCluster(t *testing.T, masters, replicas int, args ...string) *cluster {
	t.Helper()
	c := &cluster{}
	var hosts []string
	for range masters * (1 + replicas) {
		node := startRedis(t, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-config-file",
			"nodes.conf"}, args...)...)
		c.nodes, hosts = append(c.nodes, node), append(hosts, node.address())
	}
	for i, node := range c.nodes {
		node.do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			node.do("CLUSTER", "MEET", "127.0.0.1", c.nodes[0].port)
		}
		if i < masters {
			node.do("CLUSTER", "ADDSLOTSRANGE", i*16384/masters, (i+1)*16384/masters-1)
		}
	}
	for i, node := range c.nodes {
		wait(t, "the nodes know each other", func() bool {
			return strings.Count(node.do("CLUSTER", "NODES").(string), "connected") == len(c.nodes)
		})
		if i >= masters {
			master := c.nodes[i%masters].do("CLUSTER", "MYID").(string)
			wait(t, "a replica follows", func() bool {
				return node.admin.Do(context.Background(), "CLUSTER", "REPLICATE", master).Err() == nil
			})
		}
	}
	for i, node := range c.nodes {
		wait(t, "the cluster stands", func() bool {
			ok := strings.Contains(node.do("CLUSTER", "INFO").(string), "cluster_state:ok")
			return ok && (i < masters || strings.Contains(node.do("INFO", "replication").(string), "master_link_status:up"))
		})
	}
	c.url = "redis+cluster://" + strings.Join(hosts, ",")
	c.client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: hosts, Protocol: 2})
	t.Cleanup(func() { _ = c.client.Close() })
	return c
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("not yet: " + what)
		}
	}
}

// home is the node with a team's keys.
func (c *cluster) home(t *testing.T, team string) *redisServer {
	t.Helper()
	slot := c.nodes[0].do("CLUSTER", "KEYSLOT", "{"+team+"}").(int64)
	for i, n := 0, int64(3); i < 3; i++ {
		if slot < (int64(i)+1)*16384/n {
			return c.nodes[i]
		}
	}
	return nil
}

func (c *cluster) used(t *testing.T, team, unit string) (used, held int64) {
	t.Helper()
	return usedIn(c.client, team, unit)
}

// as spends for a team other than the one that the accounts were opened for.
func (k *ledgerkeeper) as(team *teams.Team) bool {
	k.mu.Lock()
	k.n++
	id := fmt.Sprintf("%p-%d", k, k.n)
	k.mu.Unlock()
	v, err := k.Admit(context.Background(), &limit.Hold{
		ID: id, Team: team, Model: "llm-max", Endpoint: policy.EndpointText,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 10}, Lease: time.Minute,
	})
	if err != nil || v.Held == nil {
		return false
	}
	k.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: v.Held.Amounts})
	return true
}

// A team's slot moves to another node under load, and then that node's replica takes over. Nothing is
// charged twice, and no script crosses slots.
func TestReshardingAndFailover(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, 1)
	k := openReplica(t, c.url, nil, generous)
	n := int64(0)
	k.eventually(patience, "connected", func() bool {
		if k.spend(10) { // it may be asked again, if a slow call made the state bad
			n++
		}
		return n > 0 && k.well()
	})
	stop, counted := make(chan struct{}), make(chan int64)
	go func(n int64) {
		for {
			select {
			case <-stop:
				counted <- n
				return
			default:
				if k.spend(10) {
					n++
				}
			}
		}
	}(n)
	from := c.home(t, "search")
	to := c.nodes[0]
	if to == from {
		to = c.nodes[1]
	}
	c.move(t, "search", from, to)
	found := func(what string) {
		t.Helper()
		took := k.eventually(patience, "well after "+what, k.well)
		if t.Logf("well %v after %s", took, what); isLong() && took > 2*time.Second*slack {
			t.Errorf("well %v after %s", took, what)
		}
	}
	found("the move")

	replica := c.nodes[3]
	if to == c.nodes[1] {
		replica = c.nodes[4]
	}
	replica.do("CLUSTER", "FAILOVER")
	wait(t, "the replica is the master", func() bool {
		return strings.Contains(replica.do("INFO", "replication").(string), "role:master")
	})
	found("the failover")
	close(stop)
	n = <-counted
	var used, held int64
	t.Cleanup(func() { t.Logf("%d tokens are charged and %d held of %d", used, held, n*10) })
	wait(t, "every charge is there, once", func() bool { used, held = c.used(t, "search", "tokens"); return used == n*10 && held == 0 })
	if crossed := k.log.count("CROSSSLOT"); crossed > 0 {
		t.Errorf("%d scripts crossed slots", crossed)
	}
}

// move moves a team's slot, key by key, while it is used.
func (c *cluster) move(t *testing.T, team string, from, to *redisServer) {
	t.Helper()
	slot := from.do("CLUSTER", "KEYSLOT", "{"+team+"}").(int64)
	source, target := from.do("CLUSTER", "MYID").(string), to.do("CLUSTER", "MYID").(string)
	to.do("CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	from.do("CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	for n := 0; ; n++ {
		keys := from.do("CLUSTER", "GETKEYSINSLOT", slot, 100).([]any)
		if len(keys) == 0 && n == 0 {
			t.Fatal("the slot is empty: nothing moves")
		}
		if len(keys) == 0 {
			break
		}
		from.do(append([]any{"MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS"}, keys...)...)
	}
	to.do("CLUSTER", "SETSLOT", slot, "NODE", target)
	from.do("CLUSTER", "SETSLOT", slot, "NODE", target)
}

// A cluster that cannot be reached at the start is found later.
func TestClusterThatComesLater(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	c.nodes[0].kill()
	k := openReplica(t, c.url, nil, "rates: {requests: {per: 1s, limit: 1000}}")
	for range 30 {
		k.spend(10)
	}
	if !k.Degraded() {
		t.Error("it was reached")
	}
	c.nodes[0].start()
	k.eventually(patience, "found", func() bool { return k.spend(10) && k.well() })
}

// Restarted sentinels are not a restarted Redis: the master runs on, and no team's accounts are restored.
func TestRestartedSentinelsRestoreNothing(t *testing.T) {
	t.Parallel()
	master := startRedis(t)
	var sentinels []*redisServer
	var hosts []string
	for range 3 {
		s := startRedis(t, "--sentinel", fmt.Sprintf("sentinel monitor sluice 127.0.0.1 %d 2", master.port))
		sentinels, hosts = append(sentinels, s), append(hosts, s.address())
	}
	k := openReplica(t, "redis+sentinel://"+strings.Join(hosts, ",")+"/sluice", unhurried, "quotas: {tokens: {day: 100000}}")
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	epoch := master.do("HGET", "sl1:{search}:quota", "epoch")
	for _, s := range sentinels {
		s.signal(os.Kill)
		_ = s.process.Wait()
		s.launch()
		k.redis.DropConnections()
		k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	}
	if now := master.do("HGET", "sl1:{search}:quota", "epoch"); now != epoch || strings.Contains(k.log.text(), "lost its memory") {
		t.Errorf("the accounts were restored: epoch %v was %v\n%s", now, epoch, k.log.text())
	}
}
