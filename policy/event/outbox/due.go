package outbox

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

const (
	indexKey = schema + "due"
	walkKey  = schema + "due:walk"
	teamsKey = schema + "teams" // that ever sent a request: package redisstore writes it

	// pause is for how long one replica has a pair of an owner and a hook for itself, while it takes deliveries. If it dies, another takes
	// them after that.
	pause = 5 * time.Second
	// pairsMost is how many pairs a call takes: each costs a part of a script.
	pairsMost = 256
	// unasked is how long a pair stays in the index that no replica delivers to. The walk finds it if its hook comes back.
	unasked = 10 * time.Minute
	// walkEvery is how often some replica looks for pairs that the index has lost.
	walkEvery = 30 * time.Second
	walkBatch = 500 // pairs in one round trip
)

// pair names an owner of events and a hook in the index.
func pair(owner string, a event.Address) string { return owner + " " + nameOf(a) }

// mark notes in the index that deliveries are due at a time, unless earlier ones are. It may fail.
func (o *Outbox) mark(ctx context.Context, due []redis.Z) {
	if len(due) > 0 {
		_ = o.client.ZAddLT(ctx, indexKey, due...).Err() // the walk finds it
	}
}

// Due implements [event.Outbox]. While nothing waits it costs one call of Redis, for however many owners, and without hooks none.
func (o *Outbox) Due(ctx context.Context, hooks []event.Address, most int) (list []event.Delivery, err error) {
	if len(hooks) == 0 || most <= 0 {
		return nil, nil
	}
	if err := o.walk(ctx, hooks); err != nil {
		return nil, err
	}
	ends, waiting, err := o.claim(ctx, hooks)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	marks := []any{ends}
	for _, w := range waiting {
		taken, next, failed := o.take(ctx, w, most)
		if list = append(list, taken...); failed != nil { // the pause ends
			err = failed
			continue
		}
		for i, hook := range w.hooks {
			marks = append(marks, w.owner+" "+hook, next[i])
		}
	}
	_ = markedScript.Run(ctx, o.client, []string{indexKey}, marks...).Err() // the pause ends
	if len(list) > 0 {
		err = nil // the others are taken later
	}
	return list, err
}

// waits is an owner of events, and the names of hooks for which some may be due.
type waits struct {
	owner string
	hooks []string
}

// claim takes pairs from the index, until the pause ends.
func (o *Outbox) claim(ctx context.Context, hooks []event.Address) (ends int64, list []*waits, err error) {
	args := []any{o.Clock(), pause.Milliseconds(), pairsMost, unasked.Milliseconds()}
	for _, a := range hooks {
		if a.Owner == event.Operators {
			args = append(args, nameOf(a)) // of all owners
		} else {
			args = append(args, pair(a.Owner, a))
		}
	}
	all, err := o.run(ctx, indexScript, indexKey, args...)
	if err != nil {
		return 0, nil, err
	}
	in, of := reply{rest: all}, map[string]*waits{}
	for ends = in.number(); len(in.rest) > 0 && in.err == nil; {
		owner, hook, _ := strings.Cut(in.text(), " ")
		w := of[owner]
		if w == nil {
			w = &waits{owner: owner}
			of[owner], list = w, append(list, w)
		}
		w.hooks = append(w.hooks, hook)
	}
	return ends, list, in.err
}

// take takes deliveries of an owner's events, and returns when the next to each hook is due, in ms; -1: none waits.
func (o *Outbox) take(ctx context.Context, w *waits, most int) (list []event.Delivery, next []int64, err error) {
	args := []any{o.Clock(), event.Lease.Milliseconds(), most, o.bounds.Keep.Milliseconds()}
	for _, hook := range w.hooks {
		args = append(args, hook)
	}
	all, err := o.run(ctx, dueScript, eventsKey(w.owner), args...)
	if err != nil {
		return nil, nil, err
	}
	in := reply{rest: all}
	for _, hook := range w.hooks {
		next = append(next, in.number())
		for n := in.number(); n > 0 && in.err == nil; n-- {
			place, path, _ := strings.Cut(in.text(), " ")
			d := event.Delivery{Event: in.event(w.owner, place), To: addressOf(w.owner, hook), Path: path}
			in.tried(&d)
			list = append(list, d)
		}
	}
	return list, next, in.err
}

// walk looks at all owners for deliveries that the index does not have, unless some replica has done so lately.
func (o *Outbox) walk(ctx context.Context, hooks []event.Address) error {
	if last := o.walked.Load(); last != nil && time.Since(*last) < walkEvery {
		return nil
	}
	now := time.Now()
	first, err := o.client.SetNX(ctx, walkKey, 1, walkEvery).Result()
	if err == nil {
		o.walked.Store(&now)
	}
	if err != nil || !first {
		return err
	}
	all, err := o.pairs(ctx, hooks)
	for len(all) > 0 && err == nil {
		n := min(walkBatch, len(all))
		err, all = o.look(ctx, all[:n]), all[n:]
	}
	return err
}

// pairs are all owners with each hook that their events may be delivered to.
func (o *Outbox) pairs(ctx context.Context, hooks []event.Address) (all []waits, err error) {
	var owners []string
	for _, a := range hooks {
		all = append(all, waits{a.Owner, []string{nameOf(a)}})
		if a.Owner == event.Operators && owners == nil {
			if owners, err = o.teams(ctx); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range hooks {
		for _, owner := range owners {
			if a.Owner == event.Operators {
				all = append(all, waits{owner, []string{nameOf(a)}})
			}
		}
	}
	return all, nil
}

// look notes in the index when the first deliveries of pairs are due.
func (o *Outbox) look(ctx context.Context, pairs []waits) error {
	pipe, heads := o.client.Pipeline(), make([]*redis.ZSliceCmd, len(pairs))
	for i, p := range pairs {
		heads[i] = pipe.ZRangeWithScores(ctx, keyOf(p.owner, "due:"+p.hooks[0]), 0, 0)
	}
	_, err := pipe.Exec(ctx)
	var due []redis.Z
	for i, head := range heads {
		for _, z := range head.Val() {
			due = append(due, redis.Z{Score: z.Score, Member: pairs[i].owner + " " + pairs[i].hooks[0]})
		}
	}
	o.mark(ctx, due)
	return err
}

// teams are all that ever sent a request.
func (o *Outbox) teams(ctx context.Context) ([]string, error) {
	return o.client.SMembers(ctx, teamsKey).Result()
}
