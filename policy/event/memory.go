package event

import (
	"container/heap"
	"context"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"
)

// Memory is the outbox in this process's memory, and ends with it. It is safe for concurrent use.
type Memory struct {
	Works *MemoryWorks // what is done before an event is written
	endedHooks

	bounds Bounds
	now    func() time.Time

	mu      sync.Mutex
	owners  map[string]*keptEvents
	waiting map[Address]*queue
	seats   map[Address]map[*delivery]time.Time // deliveries under way, with the time until which they count
	firsts  map[string]first                    // names that are announced once, by owner and name
	dropped int64
	lost    map[Address]int // deliveries that waited when their event was dropped

	followed map[string]time.Time // owners, by when a stream of their events was last open
	version  int64                // of followed
}

// keptEvents are the events of one owner, the oldest first.
type keptEvents struct {
	list []*keptEvent
	last ID
}

// keptEvent is an event with its deliveries.
type keptEvent struct {
	Event
	to []*delivery
}

// delivery is a delivery to one target. While it waits it is in the queue of its hook.
type delivery struct {
	Delivery
	due   time.Time // when some caller of Due gets it
	index int       // in its queue; below 0: in none
}

// NewMemory returns an empty outbox.
func NewMemory(bounds Bounds, now func() time.Time) *Memory {
	m := &Memory{
		endedHooks: endedHooks{now: now}, bounds: bounds, now: now, owners: map[string]*keptEvents{}, waiting: map[Address]*queue{},
		seats: map[Address]map[*delivery]time.Time{}, firsts: map[string]first{}, lost: map[Address]int{}, followed: map[string]time.Time{},
	}
	m.Works = newWorks(m)
	return m
}

// Append implements [Outbox]. It never fails.
func (m *Memory) Append(_ context.Context, d *Draft) (ID, error) {
	if d.Work != nil {
		m.Works.keep(d, m.now())
		return ID{}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, now := m.of(d.Team), m.now()
	id := ID{Owner: d.Team, Millis: now.UnixMilli()}
	if last := of.last; id.Millis <= last.Millis { // the clock may go back
		id = ID{Owner: d.Team, Millis: last.Millis, Number: last.Number + 1}
		if id.Number == 0 {
			id.Millis++
		}
	}
	e := &keptEvent{Event: Event{ID: id, Type: d.Type, Time: id.Time(), Team: d.Team, Data: d.Data}}
	for _, t := range d.To {
		to := &delivery{Delivery: Delivery{Event: e.Event, To: t.Address, Path: t.Path}}
		m.wait(to, now)
		e.to = append(e.to, to)
	}
	of.list, of.last = append(of.list, e), id
	for len(of.list) > m.bounds.Most {
		m.dropped++
		m.drop(of)
	}
	return id, nil
}

// Once remembers a name if it is new, writes a draft of its owner's unless that is nil, and reports whether the name
// was new. It never fails.
func (m *Memory) Once(ctx context.Context, n Name, d *Draft) (bool, error) {
	m.mu.Lock()
	of := n.Owner + " " + n.Name
	was, known := m.firsts[of]
	told := !n.IsNew(was.limit, known)
	if !told {
		m.bound()
		m.firsts[of] = first{n.Limit, m.now()}
	}
	m.mu.Unlock()
	if told || d == nil {
		return !told, nil
	}
	_, err := m.Append(ctx, d)
	return true, err
}

// first is when a name was remembered, and its limit.
type first struct {
	limit int64
	at    time.Time
}

// mostFirsts bounds the names that are remembered, some 10 MB: clients can invent values of tags, whose quotas are
// announced. Beyond it the names older than two days are dropped, or else all.
const mostFirsts = 100_000

// bound makes room for a name. The lock is held.
func (m *Memory) bound() {
	if len(m.firsts) < mostFirsts {
		return
	}
	before := m.now().Add(-48 * time.Hour)
	maps.DeleteFunc(m.firsts, func(_ string, f first) bool { return f.at.Before(before) })
	if len(m.firsts) >= mostFirsts {
		clear(m.firsts)
	}
}

// of returns an owner's events without those whose life has ended. The lock is held.
func (m *Memory) of(owner string) *keptEvents {
	of := m.owners[owner]
	if of == nil {
		of = new(keptEvents)
		m.owners[owner] = of
	}
	ends := m.now().Add(-m.bounds.Keep)
	for len(of.list) > 0 && of.list[0].Time.Before(ends) {
		m.drop(of)
	}
	return of
}

// drop drops the oldest event. The lock is held.
func (m *Memory) drop(of *keptEvents) {
	for _, to := range of.list[0].to {
		until, waits := m.seats[to.To][to], to.State == Waiting
		switch m.end(to); {
		case waits && until.After(m.now()): // it is under way: its outcome decides
			m.seats[to.To][to] = until
		case waits:
			m.lost[to.To]++
		}
	}
	of.list[0] = nil
	of.list = of.list[1:]
}

// wait puts a delivery into its queue until it is due. The lock is held.
func (m *Memory) wait(d *delivery, due time.Time) {
	m.end(d)
	q := m.waiting[d.To]
	if q == nil {
		q = new(queue)
		m.waiting[d.To] = q
	}
	d.State, d.Tries, d.Code, d.Last, d.Next, d.due = Waiting, 0, 0, time.Time{}, due, due
	heap.Push(q, d)
}

// end removes a delivery from its queue. The lock is held.
func (m *Memory) end(d *delivery) {
	if d.State == Waiting {
		heap.Remove(m.waiting[d.To], d.index)
	}
	delete(m.seats[d.To], d)
	d.State = ""
}

// After implements [Outbox].
func (m *Memory) After(_ context.Context, after ID, most int) (list []Event, gone bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.of(after.Owner)
	from := behind(of.list, after)
	for _, e := range of.list[from:min(len(of.list), from+most)] {
		list = append(list, e.Event)
	}
	if after.Millis != 0 && after != of.last {
		gone = from == 0 || of.list[from-1].ID != after // it was dropped, or is of another memory
	}
	return list, gone, nil
}

// behind is the index of the first event after an id.
func behind(list []*keptEvent, id ID) int {
	return sort.Search(len(list), func(i int) bool { return id.Before(list[i].ID) })
}

// Due implements [Outbox].
func (m *Memory) Due(_ context.Context, rooms Rooms, most int) (list []Delivery, lost map[Address]int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, hosts := m.now(), maps.Clone(rooms.Hosts)
	for hook, of := range rooms.Hooks {
		d, room := head(m, hook), min(of.Most, m.free(hook))
		if of.Host != "" {
			room = min(room, hosts[of.Host])
		}
		for n := 0; n < room && len(list) < most && d != nil && !d.due.After(now); n++ {
			d.due = now.Add(Lease)
			heap.Fix(m.waiting[hook], 0)
			m.seats[hook][d] = now.Add(Seat)
			list = append(list, d.Delivery)
			if of.Host != "" {
				hosts[of.Host]--
			}
			d = head(m, hook)
		}
	}
	return list, m.takeLost(rooms.Hooks), nil
}

// Tried implements [Outbox].
func (m *Memory) Tried(_ context.Context, d *Delivery, wait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(d.Event.ID)
	if e == nil {
		triedDropped(m, d)
		return nil
	}
	i := slices.IndexFunc(e.to, func(to *delivery) bool { return to.To == d.To && to.Path == d.Path })
	if i < 0 {
		return nil
	}
	to := e.to[i]
	delete(m.seats[to.To], to)
	d.Last, d.Next = m.now().UTC(), time.Time{}
	if next := d.Last.Add(wait); d.State == Waiting && next.After(e.Time.Add(m.bounds.Keep)) {
		d.State = GivenUp
	} else if d.State == Waiting {
		d.Next = next
	}
	switch {
	case d.State == Waiting && to.State != Waiting: // another caller has ended it
	case d.State == Waiting:
		to.Delivery, to.due = *d, d.Next
		heap.Fix(m.waiting[to.To], to.index)
	default:
		m.end(to)
		to.Delivery = *d
	}
	return nil
}

// find returns an event; nil: it is no longer kept. The lock is held.
func (m *Memory) find(id ID) *keptEvent {
	list := m.of(id.Owner).list
	i := behind(list, id) - 1
	if i < 0 || list[i].ID != id {
		return nil
	}
	return list[i]
}

// Oldest implements [Outbox].
func (m *Memory) Oldest(_ context.Context, hooks []Address) (map[Address]time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest, ends := map[Address]time.Time{}, m.now().Add(-m.bounds.Keep)
	for _, hook := range hooks {
		q := m.waiting[hook]
		if q == nil {
			continue
		}
		for _, d := range *q {
			if at := d.Event.Time; !at.Before(ends) && (oldest[hook].IsZero() || at.Before(oldest[hook])) {
				oldest[hook] = at
			}
		}
	}
	return oldest, nil
}

// Deliveries implements [Outbox].
func (m *Memory) Deliveries(_ context.Context, owner string, of ID, most int) (list []Delivery, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for team := range m.owners {
		if team != owner && owner != Operators {
			continue
		}
		for _, e := range m.of(team).list {
			for _, to := range e.to {
				if (team == owner || to.To.Owner == owner) && (of.Millis == 0 || of == e.ID) {
					list = append(list, to.Delivery)
					list[len(list)-1].Event.Data = nil
				}
			}
		}
	}
	return Newest(list, most), nil
}

// Newest returns the deliveries of the newest events, the newest first, at most so many.
func Newest(list []Delivery, most int) []Delivery {
	slices.SortStableFunc(list, func(a, b Delivery) int {
		switch {
		case b.Event.ID.Before(a.Event.ID):
			return -1
		case a.Event.ID.Before(b.Event.ID):
			return 1
		}
		return 0
	})
	return list[:min(most, len(list))]
}

// Again implements [Outbox].
func (m *Memory) Again(_ context.Context, id ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(id)
	if e == nil {
		return ErrGone
	}
	if len(e.to) == 0 {
		return ErrNoHooks
	}
	for _, to := range e.to {
		m.wait(to, m.now())
	}
	return nil
}

// Dropped returns how many events were dropped so far because their owner had too many.
func (m *Memory) Dropped() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped
}

// queue is a heap of deliveries to one hook, by when they are due.
type queue []*delivery

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].due.Before(q[j].due) || q[i].due.Equal(q[j].due) && q[i].Event.ID.Before(q[j].Event.ID)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }
func (q *queue) Push(x any)   { d := x.(*delivery); d.index = len(*q); *q = append(*q, d) }
func (q *queue) Pop() any {
	old := *q
	d := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return d
}
