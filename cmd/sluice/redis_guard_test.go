package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
)

// F-R2: callers whose time is over when they ask say nothing of the node: the breaker stays closed for all.
func TestFR2ExpiredCallersOpenNoBreaker(t *testing.T) {
	k := openReplica(t, startRedis(t).url(), nil)
	k.eventually(patience, "connected", func() bool { return k.spend(1) })
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for range 2 * failuresInRow {
		if err := k.state.Get(over, "sl1:{search}:x").Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked: %v", err)
		}
	}
	if now := k.state.guards[0].breaker.State(); now != gobreaker.StateClosed {
		t.Errorf("the breaker is %v", now)
	}
}
