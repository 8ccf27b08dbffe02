package outbox

import (
	"context"
	"maps"
	"slices"
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
	// overdue is how long the walk leaves a pair alone whose deliveries no replica has taken.
	overdue = 10 * time.Minute
	// walkEvery is how often some replica looks for pairs that the index has lost, and for those with nothing waiting.
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

// Due implements [event.Outbox]. While nothing waits it costs one call of Redis, for however many owners, and without room none.
func (o *Outbox) Due(ctx context.Context, rooms map[event.Address]int, most int) (list []event.Delivery, lost map[event.Address]int, err error) {
	if len(rooms) == 0 || most <= 0 {
		return nil, nil, nil
	}
	if err := o.walk(ctx, rooms); err != nil {
		return nil, nil, err
	}
	ends, waiting, err := o.claim(ctx, rooms)
	if err != nil || len(waiting) == 0 {
		return nil, nil, err
	}
	r, marks := round{rooms: maps.Clone(rooms), left: most, lost: map[event.Address]int{}}, []any{ends}
	for _, w := range waiting {
		next, failed := o.take(ctx, w, &r)
		if failed != nil { // the pause ends
			err = failed
			continue
		}
		for i, hook := range w.hooks {
			marks = append(marks, w.owner+" "+hook, next[i])
		}
	}
	_ = markedScript.Run(ctx, o.client, []string{indexKey}, marks...).Err() // the pause ends
	if len(r.list) > 0 || len(r.lost) > 0 {
		err = nil // the others are taken later
	}
	return r.list, r.lost, err
}

// waits is an owner of events, and the names of hooks for which some may be due.
type waits struct {
	owner string
	hooks []string
}

// round is what a call of Due may take yet, and what it took.
type round struct {
	rooms map[event.Address]int
	left  int
	list  []event.Delivery
	lost  map[event.Address]int
}

// claim takes pairs from the index, until the pause ends.
func (o *Outbox) claim(ctx context.Context, rooms map[event.Address]int) (ends int64, list []*waits, err error) {
	args := []any{o.Clock(), pause.Milliseconds(), pairsMost}
	for a, room := range rooms {
		switch {
		case room <= 0:
		case a.Owner == event.Operators:
			args = append(args, nameOf(a)) // of all owners
		default:
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
func (o *Outbox) take(ctx context.Context, w *waits, r *round) (next []int64, err error) {
	args := []any{o.Clock(), event.Lease.Milliseconds(), r.left, o.bounds.Keep.Milliseconds()}
	for _, hook := range w.hooks {
		args = append(args, hook, r.rooms[addressOf(w.owner, hook)])
	}
	all, err := o.run(ctx, dueScript, eventsKey(w.owner), args...)
	if err != nil {
		return nil, err
	}
	in := reply{rest: all}
	for _, hook := range w.hooks {
		to := addressOf(w.owner, hook)
		next = append(next, in.number())
		if lost := in.number(); lost > 0 {
			r.lost[to] += int(lost)
		}
		for n := in.number(); n > 0 && in.err == nil; n-- {
			place, path, _ := strings.Cut(in.text(), " ")
			d := event.Delivery{Event: in.event(w.owner, place), To: to, Path: path}
			in.tried(&d)
			r.list = append(r.list, d)
			r.rooms[to]--
			r.left--
		}
	}
	return next, in.err
}

// walk looks at all owners for deliveries that the index does not have, unless some replica has done so lately.
func (o *Outbox) walk(ctx context.Context, rooms map[event.Address]int) error {
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
	if err = o.tidy(ctx); err != nil { // before it looks: a delivery may be written meanwhile
		return err
	}
	all, err := o.pairs(ctx, slices.Collect(maps.Keys(rooms)))
	for len(all) > 0 && err == nil {
		n := min(walkBatch, len(all))
		err, all = o.look(ctx, all[:n]), all[n:]
	}
	return err
}

// tidy takes pairs out of the index that were left there and for which nothing waits: their hooks have gone. It reads the oldest.
func (o *Outbox) tidy(ctx context.Context) error {
	now := time.Now()
	if micros := o.Clock(); micros > 0 {
		now = time.UnixMicro(micros)
	}
	old, err := o.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: indexKey, Start: "(0", Stop: now.Add(-overdue).UnixMilli(), ByScore: true, Count: 20 * walkBatch,
	}).Result()
	for len(old) > 0 && err == nil {
		n := min(walkBatch, len(old))
		err, old = o.tidyBatch(ctx, old[:n]), old[n:]
	}
	return err
}

func (o *Outbox) tidyBatch(ctx context.Context, pairs []string) error {
	pipe, heads := o.client.Pipeline(), make([]*redis.IntCmd, len(pairs))
	for i, p := range pairs {
		owner, hook, _ := strings.Cut(p, " ")
		heads[i] = pipe.Exists(ctx, keyOf(owner, "due:"+hook))
	}
	_, err := pipe.Exec(ctx)
	var gone []any
	for i, head := range heads {
		if head.Err() == nil && head.Val() == 0 {
			gone = append(gone, pairs[i])
		}
	}
	if len(gone) == 0 || err != nil {
		return err
	}
	return o.client.ZRem(ctx, indexKey, gone...).Err()
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
