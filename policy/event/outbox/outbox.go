package outbox

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

var (
	//go:embed scripts
	scripts embed.FS

	// WriteLua is the library of scripts that write an event, for those of other packages that write one with their own change.
	WriteLua = part("write")

	appendScript = newScript("head", "write", "append")
	onceScript   = newScript("head", "write", "once")
	afterScript  = newScript("head", "after")
	dueScript    = newScript("head", "tries", "due")
	triedScript  = newScript("head", "write", "tries", "tried")
	againScript  = newScript("head", "write", "tries", "again")
	listedScript = newScript("head", "tries", "listed")
	indexScript  = newScript("index")
	oldestScript = newScript("head", "oldest")
	markedScript = newScript("marked")
	followScript = newScript("follow")
)

func part(name string) string {
	text, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

func newScript(parts ...string) *redis.Script {
	var source strings.Builder
	for _, name := range append([]string{"clock"}, parts...) {
		source.WriteString(part(name))
	}
	return redis.NewScript(source.String())
}

// Outbox is the outbox in Redis. It is safe for concurrent use.
type Outbox struct {
	*store
	Streams
	dropped atomic.Int64
	walked  atomic.Pointer[time.Time] // when this process last knew that some replica walks; nil: never
}

// New returns the outbox in client's Redis. The client sets time limits; it MUST NOT repeat calls.
func New(client redis.UniversalClient, bounds event.Bounds) *Outbox {
	s := &store{Clock: func() int64 { return 0 }, client: client, bounds: bounds}
	return &Outbox{store: s, Streams: Streams{s}}
}

// store is Redis with what the outbox is opened with.
type store struct {
	Clock func() int64 // microseconds, 0: Redis's own clock, which is New's setting; for tests

	client redis.UniversalClient
	bounds event.Bounds
}

const schema = "sl1:"

func keyOf(owner, end string) string { return schema + "{" + owner + "}:" + end }

// FirstsEnd ends the key with the names of what an owner is told once, for scripts of other packages that tell with their own change.
const FirstsEnd = "firsts"

func eventsKey(owner string) string { return keyOf(owner, "events") }

// nameOf is a hook's name in keys, pairs and targets.
func nameOf(a event.Address) string {
	if a.Owner == event.Operators {
		return "@" + a.Hook
	}
	return a.Hook
}

// addressOf is the hook with this name of an event of an owner.
func addressOf(owner, name string) event.Address {
	if hook, operators := strings.CutPrefix(name, "@"); operators {
		return event.Address{Owner: event.Operators, Hook: hook}
	}
	return event.Address{Owner: owner, Hook: name}
}

// target is a target as the scripts have it.
func target(a event.Address, path string) string {
	if path == "" {
		return nameOf(a)
	}
	return nameOf(a) + " " + path
}

// Written is an event in the arguments of a script that writes it with its own change.
type Written struct {
	Type event.Type `json:"type"`
	Data string     `json:"data"`
	To   []string   `json:"to"`
	Keep int64      `json:"keep"` // ms
	Most int        `json:"most"`
	Work *written   `json:"work,omitempty"` // nil: it is written at once
}

// Write returns a draft for such a script; nil for nil.
func (o *Outbox) Write(d *event.Draft) *Written {
	if o == nil || d == nil {
		return nil
	}
	w := &Written{d.Type, string(d.Data), make([]string, len(d.To)), o.bounds.Keep.Milliseconds(), o.bounds.Most, writtenOf(d.Work)}
	for i, t := range d.To {
		w.To[i] = target(t.Address, t.Path)
	}
	return w
}

// Wrote notes that drafts were written, so that their deliveries are found immediately, and how many events they displaced. Its failure
// costs no more than time: a walk finds the deliveries.
func (o *Outbox) Wrote(ctx context.Context, displaced int64, drafts ...*event.Draft) {
	o.dropped.Add(displaced)
	var due []redis.Z
	for _, d := range drafts {
		for _, t := range d.To {
			due = append(due, redis.Z{Member: pair(d.Team, t.Address)}) // 0: now
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

// run runs a script with one key.
func (o *store) run(ctx context.Context, s *redis.Script, key string, args ...any) ([]any, error) {
	return s.Run(ctx, o.client, []string{key}, args...).Slice()
}

func placeOf(id event.ID) string { return fmt.Sprintf("%d-%d", id.Millis, id.Number) }

// reply reads the parts of a reply in turn. Its first failure stays.
type reply struct {
	rest []any
	err  error
}

func (in *reply) next() any {
	if len(in.rest) == 0 {
		in.fail("it ends early")
		return nil
	}
	v := in.rest[0]
	in.rest = in.rest[1:]
	return v
}

func (in *reply) fail(why string) {
	if in.err == nil {
		in.err = fmt.Errorf("Redis's reply about events cannot be read: %s", why) //nolint:staticcheck // a name
	}
}

func (in *reply) number() int64 {
	n, ok := in.next().(int64)
	if !ok {
		in.fail("no number")
	}
	return n
}

func (in *reply) text() string {
	s, ok := in.next().(string)
	if !ok {
		in.fail("no text")
	}
	return s
}

func (in *reply) id(owner string) event.ID { return in.idOf(owner, in.text()) }

func (in *reply) idOf(owner, place string) event.ID {
	ms, number, _ := strings.Cut(place, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	n, failed := strconv.ParseUint(number, 10, 16)
	if err != nil || failed != nil {
		in.fail("no place of an event")
	}
	return event.ID{Owner: owner, Millis: at, Number: uint16(n)}
}

// event reads an event's type and data; its place was read before.
func (in *reply) event(owner, place string) event.Event {
	id := in.idOf(owner, place)
	return event.Event{ID: id, Type: event.Type(in.text()), Time: id.Time(), Team: owner, Data: []byte(in.text())}
}

// tried reads what is known of a delivery's tries.
func (in *reply) tried(d *event.Delivery) {
	row := in.text()
	if row == "" {
		d.State, d.Next = event.Waiting, d.Event.Time
		return
	}
	var last, next int64
	if _, err := fmt.Sscanf(row, "%s %d %d %d %d", &d.State, &d.Tries, &d.Code, &last, &next); err != nil {
		in.fail("no tries of a delivery")
	}
	d.Last, d.Next = timeOf(last), timeOf(next)
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
