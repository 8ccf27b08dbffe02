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
	Path string // of a request's callback: path and query below the hook's URL; else empty
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

// HookEnd is the end of a hook whose receiver wants nothing more.
type HookEnd struct {
	Mark string    // of the hook's lines, for which it holds
	At   time.Time // zero: unknown, because a replica of the previous version noted it
}

// Name is a name for which an event is written only once.
type Name struct {
	Owner, Name string
	Limit       int64 // remembered with it
	Again       bool  // it counts as new if it is remembered with a smaller limit
	Turn        bool  // its limit is from [TurnAt]: it counts as new if it is remembered in the other state with a smaller limit
}

// TurnAt is the limit of the name of something that began, or has ended, at a time. Its last bit is the state.
func TurnAt(on bool, at time.Time) int64 {
	if on {
		return 2*at.UnixMilli() + 1
	}
	return 2 * at.UnixMilli()
}

// IsNew reports whether a name counts as new, by the limit that it is remembered with, 0 if it is not remembered.
func (n *Name) IsNew(limit int64, known bool) bool {
	switch {
	case n.Turn:
		return limit < n.Limit && limit%2 != n.Limit%2
	case n.Again:
		return !known || limit < n.Limit
	}
	return !known
}

// State is the state of a delivery.
type State string

// The states of a delivery.
const (
	Waiting   State = "waiting"
	Delivered State = "delivered"
	GivenUp   State = "given_up" // the event's life ended
)

const (
	// Lease is how long a delivery belongs to one replica. If that fails, another replica tries.
	Lease = 30 * time.Second
	// Seat is how long a delivery whose outcome is not recorded counts as under way. No try takes that long.
	Seat = 12 * time.Second
)

// Rooms are how many deliveries a caller of Due has room for.
type Rooms struct {
	Hooks map[Address]Room
	Hosts map[string]int // all hooks of a host together
}

// Room is the room for deliveries to one hook.
type Room struct {
	Host string // one of the caller's Hosts; empty: no host bounds it
	Most int
}

// Outbox keeps events and their deliveries for as long as events live. It has two forms, in this process's memory and
// in Redis. Events that belong to a settlement are written with it, by package limit; Outbox does the rest. It is safe
// for concurrent use.
type Outbox interface {
	// Append writes an event that belongs to no settlement, and its deliveries. An event with a Work is not written yet, and has no id.
	Append(ctx context.Context, d *Draft) (ID, error)
	// After returns the events of an owner that were written after the given one, the oldest first, at most so many. gone reports that
	// some in between may be missing, because they are no longer kept. The zero Millis stands for the beginning.
	After(ctx context.Context, after ID, most int) (list []Event, gone bool, err error)
	// Due takes deliveries that are due, of any owner's events: to each hook and each host at most as many as it has room for, and at most
	// so many in all. For [Lease] no other caller gets them. All callers together have at most [Bounds].InFlight deliveries to a hook under
	// way, until their outcomes are recorded or [Seat] is over. lost counts the deliveries to these hooks that no caller gets any more,
	// because their events are no longer kept; each is counted in one call of one replica, also where there is no room.
	Due(ctx context.Context, rooms Rooms, most int) (list []Delivery, lost map[Address]int, err error)
	// Tried records the outcome of a try that ended now: d's State, Tries and Code. If d waits, the next try comes after
	// wait; if the event's life is over by then, d is given up. It sets State, Last and Next, by the clock of the outbox,
	// never a caller's.
	Tried(ctx context.Context, d *Delivery, wait time.Duration) error
	// Oldest returns, for each of these hooks, when the oldest event that waits for it was written; hooks without one are
	// left out. If more than 2,000 wait, it may be one of the next oldest.
	Oldest(ctx context.Context, hooks []Address) (map[Address]time.Time, error)
	// Deliveries returns the last deliveries of an owner's events and to its hooks, the newest first, at most so many, without the events'
	// data. of selects those of one event; the zero Millis selects all.
	Deliveries(ctx context.Context, owner string, of ID, most int) ([]Delivery, error)
	// End notes for all callers, and with the time by the clock of the outbox, that a hook with this mark wants nothing more; an empty mark
	// forgets it.
	End(ctx context.Context, hook Address, mark string) error
	// Ended returns the hooks that were noted.
	Ended(ctx context.Context) (map[Address]HookEnd, error)
	// Again delivers an event again to the hooks that it was for. Its error is [ErrGone] if the event is no longer kept, and [ErrNoHooks] if
	// it was for no hook.
	Again(ctx context.Context, id ID) error
}
