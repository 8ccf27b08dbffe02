package outbox

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

// Tried implements [event.Outbox].
func (o *Outbox) Tried(ctx context.Context, d *event.Delivery, wait time.Duration) error {
	owner := d.Event.ID.Owner
	list, err := o.run(ctx, triedScript, eventsKey(owner), o.Clock(), placeOf(d.Event.ID), target(d.To, d.Path), o.bounds.Keep.Milliseconds(),
		string(d.State), d.Tries, d.Code, wait.Milliseconds())
	if err != nil {
		return err
	}
	in := reply{rest: list}
	d.State, d.Last = event.State(in.text()), timeOf(in.number())
	next := in.number()
	d.Next = timeOf(next)
	_, _ = o.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // if it fails the seat counts for a while, and the walk finds it
		pipe.ZRem(ctx, seatsKey+seatsOf(owner, d.To), seatOf(d))
		if next > 0 {
			pipe.ZAddLT(ctx, indexKey, redis.Z{Score: float64(next), Member: pair(owner, d.To)})
		}
		return nil
	})
	return in.err
}

// listedTogether is how many owners' deliveries are read in one round trip.
const listedTogether = 100

// Deliveries implements [event.Outbox].
func (o *Outbox) Deliveries(ctx context.Context, owner string, of event.ID, most int) (list []event.Delivery, err error) {
	owners := []string{owner}
	if owner == event.Operators {
		teams, err := ownersIn(ctx, o.client)
		if err != nil {
			return nil, err
		}
		owners = append(owners, teams...)
	}
	for batch := range slices.Chunk(owners, listedTogether) {
		all, err := o.listed(ctx, owner, batch, of, most)
		if err != nil {
			return nil, err
		}
		list = event.Newest(append(list, all...), most)
	}
	return list, nil
}

// listed lists deliveries of the events of some owners; for owners other than the asked one, only those to its hooks.
func (o *store) listed(ctx context.Context, asked string, owners []string, only event.ID, most int) (list []event.Delivery, err error) {
	place := ""
	if only.Millis != 0 {
		place = placeOf(only)
	}
	pipe, calls := o.client.Pipeline(), make([]*redis.Cmd, len(owners))
	for i, of := range owners {
		begin := ""
		if of != asked {
			begin = "@"
		}
		calls[i] = listedScript.Eval(ctx, pipe, []string{eventsKey(of)}, o.Clock(), most, begin, o.bounds.Keep.Milliseconds(), place)
	}
	_, _ = pipe.Exec(ctx) // each call has its error
	for i, of := range owners {
		all, err := calls[i].Slice()
		if err != nil {
			return nil, err
		}
		in := reply{rest: all}
		for len(in.rest) > 0 && in.err == nil {
			d := event.Delivery{Event: in.withoutData(of, in.text())}
			hook, path, _ := strings.Cut(in.text(), " ")
			d.To, d.Path = addressOf(of, hook), path
			in.tried(&d)
			list = append(list, d)
		}
		if in.err != nil {
			return nil, in.err
		}
	}
	return list, nil
}

// End implements [event.Outbox].
func (o *store) End(ctx context.Context, hook event.Address, mark string) error {
	name := hook.Owner + " " + hook.Hook
	_, err := o.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		if mark == "" {
			p.HDel(ctx, endedKey, name)
			p.HDel(ctx, endedAtKey, name)
			return nil
		}
		p.HSet(ctx, endedAtKey, name, timeAt(o.Clock()).UnixMilli())
		p.HSet(ctx, endedKey, name, mark)
		return nil
	})
	return err
}

// Ended implements [event.Outbox].
func (o *store) Ended(ctx context.Context) (map[event.Address]event.HookEnd, error) {
	var marks, times *redis.MapStringStringCmd
	_, err := o.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		marks, times = p.HGetAll(ctx, endedKey), p.HGetAll(ctx, endedAtKey)
		return nil
	})
	ends := map[event.Address]event.HookEnd{}
	for name, mark := range marks.Val() {
		owner, hook, _ := strings.Cut(name, " ")
		end := event.HookEnd{Mark: mark}
		if millis, unknown := strconv.ParseInt(times.Val()[name], 10, 64); unknown == nil {
			end.At = time.UnixMilli(millis)
		}
		ends[event.Address{Owner: owner, Hook: hook}] = end
	}
	return ends, err
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
	if targets == "" {
		return event.ErrNoHooks
	}
	var due []redis.Z
	for t := range strings.Lines(targets) {
		hook, _, _ := strings.Cut(strings.TrimSpace(t), " ")
		due = append(due, redis.Z{Member: pair(id.Owner, addressOf(id.Owner, hook))})
	}
	o.mark(ctx, due)
	return nil
}
