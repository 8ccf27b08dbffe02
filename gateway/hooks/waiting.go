package hooks

import (
	"time"

	"sluice/policy/event"
)

// waiting is what this replica tried, or tries, and what was not taken. The replica that tried last knows a delivery: until its next try is
// past, or is told by another.
type waiting map[one]until

// one names a delivery.
type one struct {
	event event.ID
	to    event.Target
}

// until is how long a delivery is known.
type until struct {
	written time.Time // its event
	next    time.Time // when another replica may try; zero: it is under way here
}

func nameOf(d *event.Delivery) one { return one{d.Event.ID, event.Target{Address: d.To, Path: d.Path}} }

// add notes a try that begins.
func (w waiting) add(d *event.Delivery, now time.Time) {
	written := d.Event.Time
	if written.After(now) {
		written = now
	}
	w[nameOf(d)] = until{written: written}
}

// end notes a try's outcome. next is when the delivery is tried again, if it waits.
func (w waiting) end(d *event.Delivery, next time.Time) {
	if name := nameOf(d); d.State == event.Waiting {
		w[name] = until{w[name].written, next}
	} else {
		delete(w, name)
	}
}

// forget drops what another replica has tried by now.
func (w waiting) forget(now time.Time) {
	for name, u := range w {
		if !u.next.IsZero() && now.After(u.next.Add(event.Lease)) {
			delete(w, name)
		}
	}
}

// Oldest has the age of the oldest event that each hook has not taken, by the ids of hooks: of those that this replica tried last. 0: it
// has taken all. Hooks of several teams with one id count as one.
func (d *Deliverer) Oldest() map[string]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, oldest := d.Now(), map[string]time.Duration{}
	for to := range d.hooks {
		oldest[to.Hook] = 0
	}
	for name, u := range d.waits {
		if age, known := oldest[name.to.Hook]; known {
			oldest[name.to.Hook] = max(age, now.Sub(u.written))
		}
	}
	return oldest
}
