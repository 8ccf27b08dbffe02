package redisclient

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// noRetry is a command that a cluster's client sends once: not again when its reply is lost, which MaxRetries alone does not
// say to it. It may have taken effect by then, and a guard that has opened meanwhile would say that it was not sent. The
// way to another node is still taken. MaxRedirects would end that too.
type noRetry struct{ redis.Cmder }

// NoRetry is asked by the library.
func (noRetry) NoRetry() bool { return true }

// noRetryHook is the hook that makes every command of a cluster's client one that is sent once.
type noRetryHook struct{}

// DialHook leaves dialling alone.
func (noRetryHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook has a call sent once. DEL is the one that the library may split over nodes, by types that it knows; it does
// no harm twice.
func (noRetryHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "del" {
			return next(ctx, cmd)
		}
		return next(ctx, noRetry{cmd})
	}
}

// ProcessPipelineHook has each of several calls sent once.
func (noRetryHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		each := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			each[i] = noRetry{cmd}
		}
		return next(ctx, each)
	}
}
