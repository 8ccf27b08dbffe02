package outbox

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

// followedKey is in one slot for all owners, so that one call reads it.
const followedKey = schema + "streams"

// Streams is the part of the outbox for streams of events.
type Streams struct{ *store }

// Last returns the id of an owner's newest event; the zero Millis: it has none.
func (o Streams) Last(ctx context.Context, owner string) (event.ID, error) {
	list, err := o.client.XRevRangeN(ctx, eventsKey(owner), "+", "-", 1).Result()
	if err != nil || len(list) == 0 {
		return event.ID{Owner: owner}, err
	}
	in := reply{}
	id := in.idOf(owner, list[0].ID)
	return id, in.err
}

// News returns the events after the given ones, of each owner the oldest first, at most so many, in one round trip.
func (o Streams) News(ctx context.Context, after []event.ID, most int) ([][]event.Event, error) {
	pipe, heads, all := o.client.Pipeline(), make([]*redis.XMessageSliceCmd, len(after)), make([][]event.Event, len(after))
	for i, id := range after {
		heads[i] = pipe.XRangeN(ctx, eventsKey(id.Owner), "("+placeOf(id), "+", int64(most))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for i, head := range heads {
		for _, m := range head.Val() {
			in := reply{rest: []any{m.Values["t"], m.Values["d"]}}
			if all[i] = append(all[i], in.event(after[i].Owner, m.ID)); in.err != nil {
				return nil, in.err
			}
		}
	}
	return all, nil
}

// Follow notes that streams of owners' events are open, and returns all owners with such streams, unless the caller
// has the current version of the list.
func (o Streams) Follow(ctx context.Context, owners []string, known int64) (f event.Followed, err error) {
	args := []any{o.Clock(), o.bounds.Keep.Milliseconds(), strconv.FormatInt(known, 10)}
	for _, owner := range owners {
		args = append(args, owner)
	}
	list, err := o.run(ctx, followScript, followedKey, args...)
	if err != nil {
		return f, err
	}
	in := reply{rest: list}
	if f.Version, err = strconv.ParseInt(in.text(), 10, 64); err != nil {
		in.fail("no version")
	}
	f.Added = int(in.number())
	if f.Version != known {
		f.Owners = []string{}
	}
	for len(in.rest) > 0 && in.err == nil {
		f.Owners = append(f.Owners, in.text())
	}
	return f, in.err
}
