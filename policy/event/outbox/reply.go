package outbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/policy/event"
)

// reply reads the parts of a reply in turn. It keeps the first failure.
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

// event reads the type and data of the event at a place.
func (in *reply) event(owner, place string) event.Event {
	e := in.withoutData(owner, place)
	e.Data = []byte(in.text())
	return e
}

// withoutData reads the type of the event at a place.
func (in *reply) withoutData(owner, place string) event.Event {
	id := in.idOf(owner, place)
	return event.Event{ID: id, Type: event.Type(in.text()), Time: id.Time(), Team: owner}
}

// tried reads the row of a delivery's tries.
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
