package event

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// Query selects deliveries. Empty members other than Owner select all.
type Query struct {
	Owner string // of the events; [Operators]: also other owners' events to their hooks; empty: no deliveries, only hooks
	Hook  string // its id
	State State
	Event string // its id
}

// Report is what people see of deliveries, on the admin listener, in the console and in its API. It never contains an
// event's data, a hook's address, or what a receiver answered.
type Report struct {
	Hooks []HookReport     `json:"hooks"` // those that have ended, then the one that has waited longest
	Data  []DeliveryReport `json:"data"`  // the newest first
}

// HookReport says how far behind a hook is.
type HookReport struct {
	Owner  string     `json:"owner"`
	Hook   string     `json:"hook"`
	Oldest *time.Time `json:"oldest"` // when the oldest event that it has not taken was written; nil: it has taken all
	Ended  *time.Time `json:"ended"`  // when its receiver answered 410, after which nothing is sent until its lines change; nil: it did not
}

// DeliveryReport is a delivery.
type DeliveryReport struct {
	Event string     `json:"event"`
	Type  Type       `json:"type"`
	Time  time.Time  `json:"time"`
	Team  string     `json:"team,omitempty"`
	Owner string     `json:"owner"` // of the hook
	Hook  string     `json:"hook"`
	Path  string     `json:"path,omitempty"` // of a callback
	State State      `json:"state"`
	Tries int        `json:"tries"`
	Code  int        `json:"last_status,omitempty"`
	Last  *time.Time `json:"last_try,omitempty"`
	Next  *time.Time `json:"next_try,omitempty"` // nil also if the hook has ended
}

// States are the states of deliveries.
var States = []State{Waiting, Delivered, GivenUp}

const (
	// MostReported is how many of an owner's last deliveries are listed.
	MostReported = 1000
	// mostHooks is how many hooks are listed.
	mostHooks = 1000
)

// ErrState is the error for a word that is not a state of a delivery.
var ErrState = errors.New("allowed: waiting, delivered or given_up")

// Look returns a report of hooks, and of the deliveries to them that a query selects. An invalid query is [ErrState]
// or [ErrID].
func Look(ctx context.Context, o Outbox, hooks []Address, q Query) (r Report, err error) {
	only := ID{}
	if q.State != "" && !slices.Contains(States, q.State) {
		return r, ErrState
	}
	if q.Event != "" && q.Owner != "" && q.Owner != Operators {
		if only, err = ParseID(q.Event, q.Owner); err != nil {
			return r, err
		}
	}
	hooks = slices.DeleteFunc(slices.Clone(hooks), func(a Address) bool { return q.Hook != "" && a.Hook != q.Hook })
	ended, err := o.Ended(ctx)
	if err != nil {
		return r, err
	}
	if r.Hooks, err = lookAt(ctx, o, hooks, ended); err != nil {
		return r, err
	}
	r.Data = []DeliveryReport{}
	if q.Owner == "" {
		return r, nil
	}
	list, err := o.Deliveries(ctx, q.Owner, only, MostReported)
	for i := range list {
		d := reportOf(&list[i])
		if !ended[list[i].To].At.IsZero() {
			d.Next = nil
		}
		if (q.Hook == "" || d.Hook == q.Hook) && (q.State == "" || d.State == q.State) && (q.Event == "" || d.Event == q.Event) {
			r.Data = append(r.Data, d)
		}
	}
	return r, err
}

// lookAt reports on hooks.
func lookAt(ctx context.Context, o Outbox, hooks []Address, ended map[Address]HookEnd) ([]HookReport, error) {
	oldest, err := o.Oldest(ctx, hooks)
	list := make([]HookReport, len(hooks))
	for i, a := range hooks {
		list[i] = HookReport{a.Owner, a.Hook, orNil(oldest[a]), orNil(ended[a].At)}
	}
	slices.SortStableFunc(list, func(a, b HookReport) int {
		return cmp.Compare(a.since(), b.since())
	})
	return list[:min(len(list), mostHooks)], err
}

// since is the key by which hooks are sorted.
func (h *HookReport) since() int64 {
	switch {
	case h.Ended != nil:
		return math.MinInt64
	case h.Oldest == nil:
		return math.MaxInt64
	}
	return h.Oldest.UnixMilli()
}

func reportOf(d *Delivery) DeliveryReport {
	r := DeliveryReport{
		Event: d.Event.ID.String(), Type: d.Event.Type, Time: d.Event.Time.UTC(), Team: d.Event.Team, Owner: d.To.Owner, Hook: d.To.Hook,
		Path: d.Path, State: d.State, Tries: d.Tries, Code: d.Code, Last: orNil(d.Last), Next: orNil(d.Next),
	}
	if OfOperators(r.Team) {
		r.Team = ""
	}
	return r
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
