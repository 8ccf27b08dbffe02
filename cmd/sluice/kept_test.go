package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/telemetry/recent"
)

// closing are accounts that note with how much time they are closed.
type closing struct {
	teamBalances
	left time.Duration
}

func (c *closing) Close(ctx context.Context) error {
	until, _ := ctx.Deadline()
	c.left = time.Until(until)
	return nil
}

// slowly is a hook of a Redis that is away, or slow.
type slowly struct{ slow atomic.Bool }

func (s *slowly) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowly) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !s.slow.Load() {
			cmd.SetErr(limit.ErrAway)
			return limit.ErrAway
		}
		time.Sleep(20 * time.Millisecond)
		return next(ctx, cmd)
	}
}

func (s *slowly) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// At a stop the settlements have a time of their own. Claims that Redis takes too slowly take none of it, and delay the stop for a bounded
// time: the log counts those that are lost.
func TestClaimsTakeNoTimeOfSettlements(t *testing.T) {
	client, away := limittest.FakeRedis(t), new(slowly)
	client.AddHook(away)
	claims, accounts, said := cache.NewRedis(cache.RedisConfig{Client: client, Timeout: patience, TTL: time.Hour, Rate: 20, Now: time.Now}),
		new(closing), new(lineLog)
	k := &kept{balances: accounts, claims: claims, collector: recent.New(recent.Config{Store: recent.NewMemory(time.Now), Now: time.Now})}
	for n := range 2000 {
		claims.Put(t.Context(), cache.Claim{Team: "search", Task: fmt.Sprint("task", n)})
	}
	away.slow.Store(true)
	begun := time.Now()
	k.close(slog.New(slog.NewTextHandler(said, nil)))
	if took := time.Since(begun); took > settleFor+noteFor {
		t.Errorf("the end took %v", took)
	}
	if accounts.left < settleFor-time.Second {
		t.Errorf("the settlements had %v", accounts.left)
	}
	if left := claims.Unwritten(); left == 0 || !strings.Contains(said.text(), fmt.Sprint(left, " claims, answers or outcomes")) {
		t.Errorf("%d claims are lost, and it says %q", left, said.text())
	}
}
