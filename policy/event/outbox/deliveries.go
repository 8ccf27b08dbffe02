package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

// Tried implements [event.Outbox].
func (o *Outbox) Tried(ctx context.Context, d *event.Delivery) error {
	row := fmt.Sprintf("%s %d %d %d %d", d.State, d.Tries, d.Code, millis(d.Last), millis(d.Next))
	next := ""
	if d.State == event.Waiting {
		next = fmt.Sprint(millis(d.Next))
	}
	err := triedScript.Run(ctx, o.client, []string{eventsKey(d.Event.ID.Owner)}, o.Clock(), placeOf(d.Event.ID), target(d.To, d.Path), o.bounds.Keep.Milliseconds(), row, next).Err()
	if err == nil && next != "" {
		o.mark(ctx, []redis.Z{{Score: float64(millis(d.Next)), Member: pair(d.Event.ID.Owner, d.To)}})
	}
	return err
}

// Deliveries implements [event.Outbox].
func (o *Outbox) Deliveries(ctx context.Context, owner string, most int) (list []event.Delivery, err error) {
	owners := []string{owner}
	if owner == event.Operators {
		teams, err := ownersIn(ctx, o.client)
		if err != nil {
			return nil, err
		}
		owners = append(owners, teams...)
	}
	for _, of := range owners {
		begin := ""
		if owner == event.Operators && of != owner {
			begin = "@"
		}
		all, err := o.run(ctx, listedScript, eventsKey(of), o.Clock(), most, begin, o.bounds.Keep.Milliseconds())
		if err != nil {
			return nil, err
		}
		in := reply{rest: all}
		for len(in.rest) > 0 && in.err == nil {
			d := event.Delivery{Event: in.event(of, in.text())}
			hook, path, _ := strings.Cut(in.text(), " ")
			d.To, d.Path = addressOf(of, hook), path
			in.tried(&d)
			list = append(list, d)
		}
		if in.err != nil {
			return nil, in.err
		}
		list = event.Newest(list, most)
	}
	return list, nil
}

// Again implements [event.Outbox].
func (o *Outbox) Again(ctx context.Context, id event.ID) error {
	targets, err := againScript.Run(ctx, o.client, []string{eventsKey(id.Owner)}, o.Clock(), placeOf(id), o.bounds.Keep.Milliseconds()).Text()
	if errors.Is(err, redis.Nil) {
		return event.ErrGone
	}
	if err != nil {
		return err
	}
	var due []redis.Z
	for t := range strings.Lines(targets) {
		hook, _, _ := strings.Cut(strings.TrimSpace(t), " ")
		due = append(due, redis.Z{Member: pair(id.Owner, addressOf(id.Owner, hook))})
	}
	o.mark(ctx, due)
	return nil
}
