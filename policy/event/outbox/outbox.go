package outbox

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

// Outbox is the outbox in Redis. It is safe for concurrent use.
type Outbox struct {
	*store
	Streams
	dropped atomic.Int64
	walked  atomic.Pointer[time.Time] // when this process last knew that some replica walks; nil: never
	ahead   atomic.Pointer[int64]     // Redis's clock of this process's, ms; nil: unknown
}

// New returns the outbox in client's Redis. The client sets time limits; it MUST NOT repeat calls.
func New(client redis.UniversalClient, bounds event.Bounds) *Outbox {
	s := &store{Clock: func() int64 { return 0 }, client: client, bounds: bounds}
	return &Outbox{store: s, Streams: Streams{s}}
}

// Written is an event in the arguments of a script that writes it with its own change.
type Written struct {
	Type event.Type `json:"type"`
	Data string     `json:"data"`
	To   []string   `json:"to"`
	Keep int64      `json:"keep"` // ms
	Most int        `json:"most"`
	Work *written   `json:"work,omitempty"` // nil: the event is written immediately
}

// Write returns a draft for such a script; nil for nil.
func (o *Outbox) Write(d *event.Draft) *Written {
	if o == nil || d == nil {
		return nil
	}
	w := &Written{d.Type, string(d.Data), make([]string, len(d.To)), o.bounds.Keep.Milliseconds(), o.bounds.Most, o.writtenOf(d.Work)}
	for i, t := range d.To {
		w.To[i] = target(t.Address, t.Path)
	}
	return w
}

// Wrote notes that drafts were written, so that their deliveries are found immediately, and how many events they
// displaced. If it fails, the deliveries are only late: a walk finds them.
func (o *Outbox) Wrote(ctx context.Context, displaced int64, drafts ...*event.Draft) {
	o.dropped.Add(displaced)
	at := 0.0 // now: the time by Redis's clock is unknown
	if ahead := o.ahead.Load(); ahead != nil {
		at = float64(timeAt(o.Clock()).UnixMilli() + *ahead) // of a busy hook the pair that waits longest is served first
	}
	var due []redis.Z
	for _, d := range drafts {
		for _, t := range d.To {
			due = append(due, redis.Z{Score: at, Member: pair(d.Team, t.Address)})
		}
		if d.Work != nil {
			markWorks(ctx, o.client, d.Team)
		}
	}
	o.mark(ctx, due)
}

// Dropped returns how many events were dropped by this process's writes so far, because their owner had too many.
func (o *Outbox) Dropped() int64 { return o.dropped.Load() }

// Append implements [event.Outbox].
func (o *Outbox) Append(ctx context.Context, d *event.Draft) (event.ID, error) {
	text, err := json.Marshal(o.Write(d))
	if err != nil {
		return event.ID{}, err
	}
	list, err := o.run(ctx, appendScript, eventsKey(d.Team), o.Clock(), text)
	if err != nil {
		return event.ID{}, err
	}
	in := reply{rest: list}
	id, displaced := in.id(d.Team), in.number()
	if in.err == nil {
		o.Wrote(ctx, displaced, d)
	}
	if d.Work != nil {
		id = event.ID{}
	}
	return id, in.err
}

// After implements [event.Outbox].
func (o *Outbox) After(ctx context.Context, after event.ID, most int) (list []event.Event, gone bool, err error) {
	place := ""
	if after.Millis != 0 {
		place = placeOf(after)
	}
	all, err := o.run(ctx, afterScript, eventsKey(after.Owner), o.Clock(), place, most, o.bounds.Keep.Milliseconds())
	if err != nil {
		return nil, false, err
	}
	in := reply{rest: all}
	for gone = in.number() == 1; len(in.rest) > 0 && in.err == nil; {
		list = append(list, in.event(after.Owner, in.text()))
	}
	return list, gone, in.err
}
