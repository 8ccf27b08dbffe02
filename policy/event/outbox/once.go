package outbox

import (
	"context"
	"time"

	"sluice/policy/event"
)

// onceKept is how long the names of an owner are remembered after the last new one.
const onceKept = 62 * 24 * time.Hour

// Once remembers a name if it is new among all replicas, writes a draft of its owner's unless that is nil, and reports
// whether the name was new.
func (o *Outbox) Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error) {
	w := o.Write(d)
	if w == nil {
		w = new(Written)
	}
	again := 0
	switch {
	case n.Turn:
		again = 2
	case n.Again:
		again = 1
	}
	args := []any{o.Clock(), string(w.Type), w.Data, w.Keep, w.Most, n.Name, int(onceKept.Seconds()), n.Limit, again}
	for _, t := range w.To {
		args = append(args, t)
	}
	list, err := o.run(ctx, onceScript, eventsKey(n.Owner), args...)
	if err != nil || len(list) == 0 || d == nil {
		return err == nil && len(list) > 0, err
	}
	in := reply{rest: list}
	_ = in.id(n.Owner)
	o.Wrote(ctx, in.number(), d)
	return true, in.err
}
