package redisclient

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const noEviction = "noeviction"

// Facts describes how Redis persists its data. It is read from INFO, because CONFIG is often forbidden.
type Facts struct {
	EvictionPolicy string
	MaxMemory      int64         // in bytes; 0: unbounded
	Uptime         time.Duration // 0: not reported
	appends        bool          // to a file
	snapshots      bool          // it took one since its start, takes one, or began with one; INFO does not show the schedule
	hidden         bool          // it does not report its persistence
}

func readFacts(info string) (f Facts) {
	said := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		said[name] = value
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(said[name], 10, 64)
		return n
	}
	f.EvictionPolicy, f.MaxMemory, f.appends = said["maxmemory_policy"], number("maxmemory"), number("aof_enabled") == 1
	f.hidden = said["aof_enabled"] == ""
	lasted, given := said["rdb_last_bgsave_time_sec"]
	f.snapshots = given && lasted != "-1" || number("rdb_saves") > 0 || number("rdb_bgsave_in_progress") > 0 ||
		number("rdb_last_load_keys_loaded") > 0
	f.Uptime = time.Duration(number("uptime_in_seconds")) * time.Second
	return f
}

// with combines the facts of two nodes of a cluster: the worse of each fact, and the sum of their memory.
func (f Facts) with(other Facts) Facts {
	if f.EvictionPolicy == noEviction {
		f.EvictionPolicy = other.EvictionPolicy
	}
	if f.MaxMemory > 0 && other.MaxMemory > 0 {
		f.MaxMemory += other.MaxMemory
	} else {
		f.MaxMemory = 0
	}
	if other.Forgets() {
		f.appends, f.snapshots, f.hidden, f.Uptime = false, false, false, other.Uptime
	}
	return f
}

// Forgets reports whether nothing shows that the data outlives the server.
func (f Facts) Forgets() bool { return !f.appends && !f.snapshots && !f.hidden }

// PolicyUnknown is the warning if Redis hides its eviction policy, or is away.
const PolicyUnknown = "its eviction policy could not be read; maxmemory-policy must be " + noEviction

// RequireNoEviction fails if Redis reports that it evicts keys when its memory is full. If that is unknown, it logs a warning, and the
// probe asks again.
func (c *Client) RequireNoEviction(ctx context.Context) (known bool, err error) {
	if known = c.learn(ctx) != ""; !known {
		c.config.Log.Warn("redis", "warning", PolicyUnknown)
	}
	return known, c.EvictionFault()
}

// EvictionFault returns an error if Redis is known to evict keys when its memory is full.
func (c *Client) EvictionFault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy != "" && c.policy != noEviction {
		return fmt.Errorf("the eviction policy of Redis is %s, so it deletes limits when its memory is full; set maxmemory-policy to noeviction",
			c.policy)
	}
	return nil
}

// learn reads Redis's facts until they are known, and returns its eviction policy; empty: not known yet.
func (c *Client) learn(ctx context.Context) string {
	c.mu.Lock()
	policy := c.policy
	c.mu.Unlock()
	if policy != "" {
		return policy
	}
	facts, known := c.fetchFacts(ctx)
	if !known {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy == "" {
		c.policy = facts.EvictionPolicy
		if c.config.Learned != nil {
			c.config.Learned(facts)
		}
	}
	return c.policy
}

// fetchFacts reads INFO of Redis, or of each master of a cluster. known is false if the call failed or Redis hides its eviction policy.
func (c *Client) fetchFacts(ctx context.Context) (facts Facts, known bool) {
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, time.Second))
	defer cancel()
	var mu sync.Mutex
	fetch := func(ctx context.Context, node redis.Cmdable) error {
		text, err := node.Info(ctx).Result()
		if err != nil {
			return err
		}
		said := readFacts(text)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case said.EvictionPolicy == "":
		case known:
			facts = facts.with(said)
		default:
			facts, known = said, true
		}
		return nil
	}
	if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok {
		_ = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return fetch(ctx, node) })
	} else {
		_ = fetch(ctx, c.UniversalClient)
	}
	return facts, known
}
