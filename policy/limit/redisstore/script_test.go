package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
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
	if _, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error { return pipe.Ping(t.Context()).Err() }); err != nil { // connects
		t.Fatal(err)
	}
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	client.AddHook(counted)
	calls := make([]*call, 8)
	for i := range calls {
		calls[i] = r.begin(replicasScript, []any{replicasKey}, 5).add("replica", 0, BeatGap.Microseconds(), AliveFor.Microseconds(), 1)
	}
	r.send(t.Context(), calls...)
	for i, c := range calls {
		if _, err := r.said(c, 5); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := counted.Load(); n != 3 {
		t.Errorf("%d round trips, want 3: by the digest, the text for one, by the digest for the others", n)
	}
}

// The scripts repeat the units and the number of open_tasks.
func TestScriptsHaveTheUnits(t *testing.T) {
	var words []string
	for _, unit := range teams.Units {
		words = append(words, "'"+string(unit)+"'")
	}
	if line := "local UNITS = {" + strings.Join(words, ", ") + "}\n"; !strings.Contains(commonLua, line) {
		t.Errorf("common.lua lacks %q", line)
	}
	if text := fmt.Sprintf("fault, wait = %d, 5000000", limit.LimitTasks); !strings.Contains(admitLua, text) {
		t.Errorf("admit.lua lacks %q", text)
	}
}
