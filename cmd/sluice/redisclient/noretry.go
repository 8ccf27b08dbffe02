package redisclient

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// noRetry is a command that a cluster's client does not send again when the reply is lost. MaxRetries does not forbid that.
// The command may have taken effect, and a guard that opened meanwhile would report that it was not sent. Redirects to
// another node are still followed, which MaxRedirects would end too.
type noRetry struct{ redis.Cmder }

// NoRetry implements the library's interface.
func (noRetry) NoRetry() bool { return true }

// noRetryHook makes every command of a cluster's client a noRetry.
type noRetryHook struct{}

// DialHook leaves dialling alone.
func (noRetryHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook wraps a call. DEL is left alone: the library splits it over nodes if it knows the type, and to send it twice
// does no harm.
func (noRetryHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "del" {
			return next(ctx, cmd)
		}
		return next(ctx, noRetry{cmd})
	}
}

// ProcessPipelineHook wraps several calls.
func (noRetryHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		each := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			each[i] = noRetry{cmd}
		}
		return next(ctx, each)
	}
}
