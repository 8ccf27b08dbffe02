package event

import (
	"context"
	"time"
)

// Address names a hook: its owner, and its id there.
type Address struct {
	Owner string // a team, or [Operators]
	Hook  string
}

// Target is where an event is delivered to. The same hook may be two targets of an event, by their paths.
type Target struct {
	Address
	Path string // with its query, below the hook's URL: of a request's callback; else empty
}

// Delivery is an event on its way to one target, which Event, To and Path name.
type Delivery struct {
	Event Event
	To    Address
	Path  string // as in Target
	State State
	Tries int       // so far
	Code  int       // the last try's status; 0: none, or no answer
	Last  time.Time // of the last try; zero: none
	Next  time.Time // of the next try, while it waits
}

// Name is what an event is written once for.
type Name struct {
	Owner, Name string
	Limit       int64 // remembered with it
	Again       bool  // it is new again if it is remembered with a smaller limit
	Turn        bool  // it is that of something that is on or has ended, by [TurnAt], and new if it is remembered in the other state, with a smaller limit
}

// TurnAt is the limit of a name of something that is on since a time, or has ended by then. Its last bit is the state.
func TurnAt(on bool, at time.Time) int64 {
	if on {
		return 2*at.UnixMilli() + 1
	}
	return 2 * at.UnixMilli()
}

// IsNew reports whether a name is new, by the limit that it is remembered with, or 0 if it is not.
func (n *Name) IsNew(limit int64, known bool) bool {
	switch {
	case n.Turn:
		return limit < n.Limit && limit%2 != n.Limit%2
	case n.Again:
		return !known || limit < n.Limit
	}
	return !known
}

// State is how far a delivery is.
type State string

// The states of a delivery.
const (
	Waiting   State = "waiting"
	Delivered State = "delivered"
	GivenUp   State = "given_up" // the event's life ended
)

const (
	// Lease is for how long one replica has a delivery for itself. If it is lost, another replica tries.
	Lease = 30 * time.Second
	// Seat is for how long a delivery whose outcome is not recorded counts as under way. No try takes so long.
	Seat = 12 * time.Second
)

// Rooms are how many deliveries a caller of Due has room for.
type Rooms struct {
	Hooks map[Address]Room
	Hosts map[string]int // all hooks of a host together
}

// Room is that of one hook.
type Room struct {
	Host string // one of the caller's Hosts; empty: none bounds it
	Most int
}

// Outbox keeps events and their deliveries for as long as events live. It has two forms, in this process's memory and in Redis. What
// belongs to a settlement is written with it, by package limit; Outbox has the rest. It is safe for concurrent use.
type Outbox interface {
	// Append writes an event that belongs to no settlement, and its deliveries. One with a Work is not written yet, and has no id.
	Append(ctx context.Context, d *Draft) (ID, error)
	// After returns the events of an owner that were written after one, the oldest first, at most so many. gone says that some between
	// may be missing, because they are kept no more. The zero Millis stands for the oldest that is kept.
	After(ctx context.Context, after ID, most int) (list []Event, gone bool, err error)
	// Due takes deliveries that are due, to each hook and each host at most as many as it has room for, whosever events they are, and at most so
	// many in all: for [Lease] no other caller gets them. Of all callers together a hook has at most [Bounds].InFlight under way, until their
	// outcomes are recorded, or [Seat] is over. lost counts those to these hooks that no caller gets any more, because their events are no
	// longer kept; one call of all replicas' counts each.
	Due(ctx context.Context, rooms Rooms, most int) (list []Delivery, lost map[Address]int, err error)
	// Tried records the outcome of a try that ended now: d's State, Tries and Code. While d waits, the next try comes after wait; if the
	// event's life is over by then, it is given up. It sets State, Last and Next, by the clock of the outbox and no caller's.
	Tried(ctx context.Context, d *Delivery, wait time.Duration) error
	// Oldest returns when the oldest event was written that waits for each of these hooks; those without one are left out. Of more than 2,000
	// that wait it may be one of the next oldest.
	Oldest(ctx context.Context, hooks []Address) (map[Address]time.Time, error)
	// Deliveries returns the last deliveries of an owner's events and to its hooks, the newest first, at most so many, without the events'
	// data. An ID asks only for those of that event, the zero Millis for all.
	Deliveries(ctx context.Context, owner string, of ID, most int) ([]Delivery, error)
	// End notes for all callers that a hook with this mark wants nothing more; an empty mark forgets it.
	End(ctx context.Context, hook Address, mark string) error
	// Ended returns the marks of the hooks that were noted.
	Ended(ctx context.Context) (map[Address]string, error)
	// Again has an event delivered again to the hooks that it was for. Its error is [ErrGone] if it is kept no more, and [ErrNoHooks] if it was for
	// none.
	Again(ctx context.Context, id ID) error
}
