package redisclient

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// evicts is the error for a Redis that may delete limits to make room.
func evicts(policy string) error {
	return fmt.Errorf("the eviction policy of Redis is %s, so it deletes limits when its memory is full; set maxmemory-policy to noeviction", policy)
}

// RequireNoEviction fails where Redis says that it evicts keys when its memory is full. Where Redis is away it logs that,
// and the probe asks again.
func (c *Client) RequireNoEviction(ctx context.Context) error {
	if c.learn(ctx) == "" {
		c.config.Log.Warn("redis", "warning", "its eviction policy could not be read at the start; maxmemory-policy must be "+noEviction)
	}
	return c.EvictionFault()
}

// EvictionFault is an error where Redis is known to evict keys when its memory is full.
func (c *Client) EvictionFault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy != "" && c.policy != noEviction {
		return evicts(c.policy)
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
