package redisclient

import (
	"context"

	"github.com/redis/go-redis/v9"
)

type aside struct{}

// Aside marks a context: its calls go over connections of their own, behind a breaker of their own, so that they keep no other call
// waiting and their failures stop no other. It is for what people look at, not for the work on requests.
func Aside(ctx context.Context) context.Context { return context.WithValue(ctx, aside{}, true) }

// divertHook sends the calls whose context is Aside through another client.
type divertHook struct{ to *Client } // nil: to none

func (d divertHook) takes(ctx context.Context) bool { return d.to != nil && ctx.Value(aside{}) != nil }

// DialHook leaves dialling alone.
func (divertHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook diverts a call.
func (d divertHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.takes(ctx) {
			return d.to.Process(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook diverts several calls in one round trip.
func (d divertHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !d.takes(ctx) {
			return next(ctx, cmds)
		}
		pipe := d.to.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // it only queues
		}
		_, err := pipe.Exec(ctx)
		return err
	}
}
