package hooks

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"sluice/policy/event"
)

// box is an outbox in memory, as the contract says, that can be away.
type box struct {
	now func() time.Time

	mu     sync.Mutex
	list   []*kept
	away   bool
	taken  int // deliveries, over all calls
	lost   map[event.Address]int
	ended  map[event.Address]event.HookEnd
	number uint16
}

type kept struct {
	event.Delivery
	leased time.Time
}

var errGone = errors.New("connection refused")

func (b *box) Append(_ context.Context, d *event.Draft) (event.ID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	e := event.Event{ID: event.ID{Owner: d.Team, Millis: b.now().UnixMilli(), Number: b.number}, Type: d.Type, Time: b.now(), Team: d.Team,
		Data: d.Data}
	for _, to := range d.To {
		b.list = append(b.list, &kept{Delivery: event.Delivery{Event: e, To: to.Address, Path: to.Path, State: event.Waiting, Next: b.now()}})
	}
	return e.ID, nil
}

func (b *box) Due(_ context.Context, rooms event.Rooms, most int) (due []event.Delivery, lost map[event.Address]int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, nil, errGone
	}
	lost, b.lost = b.lost, nil
	took, hosts := map[event.Address]int{}, map[string]int{}
	for _, k := range b.list {
		now, room := b.now(), rooms.Hooks[k.To]
		if k.State == event.Waiting && !k.Next.After(now) && !k.leased.After(now) && took[k.To] < room.Most &&
			hosts[room.Host] < rooms.Hosts[room.Host] && len(due) < most {
			k.leased = now.Add(event.Lease)
			took[k.To]++
			hosts[room.Host]++
			b.taken++
			due = append(due, k.Delivery)
		}
	}
	return due, lost, nil
}

func (b *box) Tried(_ context.Context, d *event.Delivery, wait time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return errGone
	}
	for _, k := range b.list {
		if k.Event.ID == d.Event.ID && k.To == d.To && k.Path == d.Path {
			if d.Last = b.now(); d.State == event.Waiting {
				d.Next = d.Last.Add(wait)
			}
			if d.Next.After(d.Event.Time.Add(life)) {
				d.State = event.GivenUp
			}
			k.Delivery, k.leased = *d, time.Time{}
		}
	}
	return nil
}

func (b *box) setAway(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func (b *box) Oldest(context.Context, []event.Address) (map[event.Address]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, errGone
	}
	oldest := map[event.Address]time.Time{}
	for _, k := range b.list {
		if at := oldest[k.To]; k.State == event.Waiting && (at.IsZero() || k.Event.Time.Before(at)) {
			oldest[k.To] = k.Event.Time
		}
	}
	return oldest, nil
}

// states counts the deliveries by state.
func (b *box) states() map[event.State]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[event.State]int{}
	for _, k := range b.list {
		n[k.State]++
	}
	return n
}

func (b *box) After(context.Context, event.ID, int) ([]event.Event, bool, error) {
	return nil, false, nil
}

func (b *box) Deliveries(context.Context, string, event.ID, int) ([]event.Delivery, error) {
	return nil, nil
}

func (b *box) End(_ context.Context, hook event.Address, mark string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.ended = map[event.Address]event.HookEnd{}
	}
	if b.ended[hook] = (event.HookEnd{Mark: mark, At: time.Now()}); mark == "" {
		delete(b.ended, hook)
	}
	return nil
}

func (b *box) Ended(context.Context) (map[event.Address]event.HookEnd, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ended), nil
}

func (b *box) Again(context.Context, event.ID) error { return nil }
