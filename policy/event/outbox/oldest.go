package outbox

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

const (
	oldestLooks = 1000   // deliveries of a hook that are read at each end
	pairsLooked = 10_000 // pairs with waiting deliveries that are read
)

// Oldest implements [event.Outbox]. While nothing waits it makes one call of Redis.
func (o *Outbox) Oldest(ctx context.Context, hooks []event.Address) (map[event.Address]time.Time, error) {
	asked := make(map[event.Address]bool, len(hooks))
	for _, a := range hooks {
		asked[a] = true
	}
	pairs, err := o.client.ZRange(ctx, indexKey, 0, pairsLooked-1).Result()
	if err != nil {
		return nil, err
	}
	var of []event.Address
	var calls []*redis.Cmd
	pipe := o.client.Pipeline()
	for _, p := range pairs {
		owner, hook, _ := strings.Cut(p, " ")
		if a := addressOf(owner, hook); asked[a] {
			of = append(of, a)
			calls = append(calls, oldestScript.Eval(ctx, pipe, []string{eventsKey(owner)}, o.Clock(), o.bounds.Keep.Milliseconds(), oldestLooks,
				hook))
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	_, err = pipe.Exec(ctx)
	oldest := map[event.Address]time.Time{}
	for i, c := range calls {
		n, failed := c.Int64Slice()
		if failed != nil || len(n) == 0 || n[0] == 0 {
			continue
		}
		if at, known := time.UnixMilli(n[0]).UTC(), oldest[of[i]]; known.IsZero() || at.Before(known) {
			oldest[of[i]] = at
		}
	}
	return oldest, err
}
