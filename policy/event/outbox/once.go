package outbox

import (
	"context"
	"time"

	"sluice/policy/event"
)

// onceKept is how long the names of an owner are remembered after the last new one.
const onceKept = 62 * 24 * time.Hour

// Once writes an event if it is the first of this name for its owner, among all replicas, and reports whether it did.
func (o *Outbox) Once(ctx context.Context, name string, d *event.Draft) (bool, error) {
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

// Forget has the next event of this name be the first again.
func (o *Outbox) Forget(ctx context.Context, owner, name string) error {
	return o.client.HDel(ctx, keyOf(owner, "firsts"), name).Err()
}
