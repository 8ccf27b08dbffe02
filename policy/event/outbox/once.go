package outbox

import (
	"context"
	"time"

	"sluice/policy/event"
)

// onceKept is how long the names of an owner are remembered after the last new one.
const onceKept = 62 * 24 * time.Hour

// Once remembers a name of an owner and writes a draft of the owner's, unless it is nil, if the name is new among all replicas, and reports
// whether it is.
func (o *Outbox) Once(ctx context.Context, owner, name string, d *event.Draft) (bool, error) {
	if d == nil {
		return o.remember(ctx, owner, name)
	}
	w := o.Write(d)
	args := []any{o.Clock(), string(w.Type), w.Data, w.Keep, w.Most, name, int(onceKept.Seconds())}
	for _, t := range w.To {
		args = append(args, t)
	}
	list, err := o.run(ctx, onceScript, eventsKey(d.Team), args...)
	if err != nil || len(list) == 0 {
		return false, err
	}
	in := reply{rest: list}
	_ = in.id(d.Team)
	o.Wrote(ctx, in.number(), d)
	return true, in.err
}

// remember is Once without a draft.
func (o *Outbox) remember(ctx context.Context, owner, name string) (bool, error) {
	key, pipe := keyOf(owner, "firsts"), o.client.Pipeline()
	first := pipe.HSetNX(ctx, key, name, time.Now().Unix())
	pipe.Expire(ctx, key, onceKept)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, err
	}
	return first.Val(), nil
}

// Forget has the next call of Once with this name be the first again.
func (o *Outbox) Forget(ctx context.Context, owner, name string) error {
	return o.client.HDel(ctx, keyOf(owner, "firsts"), name).Err()
}
