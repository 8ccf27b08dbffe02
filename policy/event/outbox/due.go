package outbox

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

const (
	indexKey = schema + "due"
	endedKey = schema + "ended"
	// endedAtKey has when they ended. It is a key of its own, because the previous version takes a longer value of endedKey for old lines.
	endedAtKey = schema + "{" + endedKey + "}:at" // in the slot of endedKey
	walkKey    = schema + "due:walk"
	seatsKey   = schema + "{" + indexKey + "}:seats:" // in the index's slot
	teamsKey   = schema + "teams"                     // that ever sent a request: package redisstore writes this key and the next
	// outsideKey are the accounts outside of the teams, whose events are only for the operators.
	outsideKey = schema + "outside"

	// pause is how long a pair of an owner and a hook belongs to one replica, while it takes deliveries. If the replica dies, another one
	// takes them afterwards.
	pause = 5 * time.Second
	// pairsMost is how many pairs a call takes: each costs a part of a script.
	pairsMost = 256
	// overdue is how long a pair whose deliveries no replica has taken stays in the index before the walk checks it.
	overdue = 10 * time.Minute
	// walkEvery is how often some replica looks for pairs that the index lacks, and for pairs in it without deliveries.
	walkEvery = 30 * time.Second
	walkBatch = 500 // pairs in one round trip
)

// mark notes in the index that deliveries are due at a time, unless earlier ones are. It may fail.
func (o *Outbox) mark(ctx context.Context, due []redis.Z) {
	if len(due) > 0 {
		_ = o.client.ZAddLT(ctx, indexKey, due...).Err() // the walk finds it
	}
}

// Due implements [event.Outbox]. While nothing waits it makes one call of Redis, whatever the number of owners;
// without room it makes none.
func (o *Outbox) Due(ctx context.Context, rooms event.Rooms, most int) (list []event.Delivery, lost map[event.Address]int, err error) {
	if len(rooms.Hooks) == 0 || most <= 0 {
		return nil, nil, nil
	}
	r := &round{
		name: rand.Text(), seats: map[event.Address]int{}, pairs: map[event.Address]int{}, taken: map[event.Address][]any{},
		lost: map[event.Address]int{},
	}
	if err = o.walk(ctx, rooms.Hooks, r); err == nil {
		err = o.claim(ctx, rooms, r)
	}
	if err == nil && len(r.waiting) > 0 {
		for rest := r.waiting; len(rest) > 0; {
			n := r.share(rest, most-len(r.list))
			if failed := o.take(ctx, rest[:n], r); failed != nil {
				err = failed // the pause ends
			}
			rest = rest[n:]
		}
		o.marked(ctx, r)
	}
	if len(r.list) > 0 || len(r.lost) > 0 {
		err = nil // the rest is taken later
	}
	return r.list, r.lost, err
}

// claim takes pairs from the index until the pause ends, and seats for their deliveries.
func (o *Outbox) claim(ctx context.Context, rooms event.Rooms, r *round) error {
	args := []any{o.Clock(), pause.Milliseconds(), pairsMost, o.bounds.InFlight, event.Seat.Milliseconds(), r.name, len(rooms.Hosts)}
	hosts := map[string]int{} // by number
	for host, room := range rooms.Hosts {
		hosts[host] = len(hosts) + 1
		args = append(args, room)
	}
	for a, room := range rooms.Hooks {
		if room.Most > 0 {
			args = append(args, seatsOf(a.Owner, a), room.Most, hosts[room.Host])
		}
	}
	all, err := indexScript.Run(ctx, o.client, []string{indexKey, seatsKey}, args...).Slice()
	if err != nil {
		return err
	}
	in, of := reply{rest: all}, map[string]*waits{}
	for r.ends = in.number(); len(in.rest) > 0 && in.err == nil; {
		owner, hook, _ := strings.Cut(in.text(), " ")
		w := of[owner]
		if w == nil {
			w = &waits{owner: owner}
			of[owner], r.waiting = w, append(r.waiting, w)
		}
		w.hooks = append(w.hooks, hook)
		to := addressOf(owner, hook)
		r.pairs[to]++
		r.seats[to] = int(in.number())
	}
	if in.err == nil {
		ahead := r.ends - pause.Milliseconds() - timeAt(o.Clock()).UnixMilli()
		o.ahead.Store(&ahead)
	}
	return in.err
}

// take takes the owners' shares of deliveries, in one round trip.
func (o *Outbox) take(ctx context.Context, owners []*waits, r *round) (err error) {
	keys, args := make([]string, len(owners)), make([][]any, len(owners))
	for i, w := range owners {
		keys[i], args[i] = eventsKey(w.owner), []any{o.Clock(), event.Lease.Milliseconds(), w.all, o.bounds.Keep.Milliseconds()}
		for n, hook := range w.hooks {
			args[i] = append(args[i], hook, w.most[n])
		}
	}
	for i, call := range o.runEach(ctx, dueScript, keys, args) {
		all, failed := call.Slice()
		if failed == nil {
			failed = r.read(owners[i], all)
		}
		if failed != nil {
			err = failed
		}
	}
	return err
}

// marked records what a round took, and when its pairs are due again. If it fails, the pause ends, and the round's
// seats count as long as those of deliveries would.
func (o *Outbox) marked(ctx context.Context, r *round) {
	var pairs []any
	for _, w := range r.waiting {
		for i, next := range w.next {
			pairs = append(pairs, w.owner+" "+w.hooks[i], next)
		}
	}
	args := append([]any{o.Clock(), r.ends, r.name, event.Seat.Milliseconds(), len(pairs) / 2}, pairs...)
	named := map[event.Address]bool{}
	for _, w := range r.waiting {
		for _, hook := range w.hooks {
			if to := addressOf(w.owner, hook); !named[to] {
				named[to] = true
				args = append(append(args, seatsOf(w.owner, to), r.seats[to], len(r.taken[to])), r.taken[to]...)
			}
		}
	}
	_ = markedScript.Run(ctx, o.client, []string{indexKey, seatsKey}, args...).Err()
}

// walk searches all owners for deliveries that the index lacks, unless some replica has done so recently.
func (o *Outbox) walk(ctx context.Context, rooms map[event.Address]event.Room, r *round) error {
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
	if err = o.tidy(ctx); err != nil { // first: a delivery may be written while it looks
		return err
	}
	all, err := o.pairs(ctx, slices.Collect(maps.Keys(rooms)))
	for len(all) > 0 && err == nil {
		n := min(walkBatch, len(all))
		err, all = o.look(ctx, all[:n], rooms, r), all[n:]
	}
	return err
}

// tidy removes from the index old pairs for which nothing waits, because their hooks no longer exist. It reads the
// oldest ones.
func (o *Outbox) tidy(ctx context.Context) error {
	old, err := o.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: indexKey, Start: "(0", Stop: timeAt(o.Clock()).Add(-overdue).UnixMilli(), ByScore: true, Count: 20 * walkBatch,
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

// pairs are all owners, each with every hook to which its events may be delivered.
func (o *Outbox) pairs(ctx context.Context, hooks []event.Address) (all []*waits, err error) {
	var owners []string
	for _, a := range hooks {
		all = append(all, &waits{owner: a.Owner, hooks: []string{nameOf(a)}})
		if a.Owner == event.Operators && owners == nil {
			if owners, err = ownersIn(ctx, o.client); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range hooks {
		for _, owner := range owners {
			if a.Owner == event.Operators {
				all = append(all, &waits{owner: owner, hooks: []string{nameOf(a)}})
			}
		}
	}
	return all, nil
}

// look notes in the index when the first deliveries of pairs are due, and counts what hooks without room have lost: no claim asks for them.
func (o *Outbox) look(ctx context.Context, pairs []*waits, rooms map[event.Address]event.Room, r *round) error {
	pipe, heads, lost := o.client.Pipeline(), make([]*redis.ZSliceCmd, len(pairs)), make([]*redis.StringCmd, len(pairs))
	for i, p := range pairs {
		heads[i] = pipe.ZRangeWithScores(ctx, keyOf(p.owner, "due:"+p.hooks[0]), 0, 0)
		lost[i] = pipe.HGet(ctx, keyOf(p.owner, "lost"), p.hooks[0])
	}
	_, _ = pipe.Exec(ctx) // each call has its error
	now := timeAt(o.Clock())
	var due []redis.Z
	var losing []*waits
	for i, p := range pairs {
		head, err := heads[i].Result()
		if err != nil {
			return err
		}
		dead := lost[i].Err() == nil
		for _, z := range head {
			due = append(due, redis.Z{Score: z.Score, Member: p.owner + " " + p.hooks[0]})
			dead = dead || writtenBefore(z.Member, now.Add(-o.bounds.Keep)) // the script decides
		}
		if p.most = []int{0}; dead && rooms[addressOf(p.owner, p.hooks[0])].Most == 0 {
			losing = append(losing, p)
		}
	}
	o.mark(ctx, due)
	for batch := range slices.Chunk(losing, takeBatch) {
		if err := o.take(ctx, batch, r); err != nil {
			return err
		}
	}
	return nil
}

// writtenBefore reports whether the event of a delivery was written before a time.
func writtenBefore(delivery any, at time.Time) bool {
	text, _ := delivery.(string)
	millis, _, _ := strings.Cut(text, "-")
	written, err := strconv.ParseInt(millis, 10, 64)
	return err == nil && time.UnixMilli(written).Before(at)
}

// ownersIn are the teams that ever sent a request, and the accounts outside of the teams.
func ownersIn(ctx context.Context, client redis.UniversalClient) ([]string, error) {
	pipe := client.Pipeline()
	teams, outside := pipe.SMembers(ctx, teamsKey), pipe.SMembers(ctx, outsideKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return append(teams.Val(), outside.Val()...), nil
}
