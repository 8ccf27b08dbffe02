package redisstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// roundTrips counts the round trips of a client.
type roundTrips struct{ atomic.Int64 }

func (n *roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { n.Add(1); return next(ctx, cmd) }
}

func (n *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { n.Add(1); return next(ctx, cmds) }
}

// TestForgottenScriptsCostTwoTrips: all callers of a round wait for the text, so it is sent once for all.
func TestForgottenScriptsCostTwoTrips(t *testing.T) {
	client, counted := limittest.RealRedis(t), &roundTrips{}
	r := New(client)
	agreed(t, r)
	// connects
	if _, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error { return pipe.Ping(t.Context()).Err() }); err != nil {
		t.Fatal(err)
	}
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	client.AddHook(counted)
	replicasScript.known.Store(true) // as after an answer to another call
	calls := make([]*call, 8)
	for i := range calls {
		calls[i] = r.begin(replicasScript, beatArgsOf(&r.Peer, time.Time{}, limit.Flight{Bound: 1}), replicasKey, partsKey)
	}
	r.send(t.Context(), calls...)
	for i, c := range calls {
		if _, err := r.replyTo(c); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := counted.Load(); n != 3 {
		t.Errorf("%d round trips, want 3: by the digest, the text for one, by the digest for the others", n)
	}
}
