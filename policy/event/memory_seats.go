package event

import (
	"maps"
	"time"
)

// head is the delivery to a hook that is due first and whose event's life has not ended; nil: none. The lock is held.
func head(m *Memory, hook Address) *delivery {
	for q := m.waiting[hook]; q != nil && q.Len() > 0; {
		d := (*q)[0]
		if m.of(d.Event.Team); d.State == Waiting {
			return d
		}
	}
	return nil
}

// free is how many more deliveries to a hook may be under way. The lock is held.
func (m *Memory) free(hook Address) int {
	if m.seats[hook] == nil {
		m.seats[hook] = map[*delivery]time.Time{}
	}
	now := m.now()
	maps.DeleteFunc(m.seats[hook], func(d *delivery, until time.Time) bool {
		ended := !until.After(now)
		if ended && d.State == "" { // its event was dropped
			m.lost[hook]++
		}
		return ended
	})
	return m.bounds.InFlight - len(m.seats[hook])
}

// takeLost returns and resets the counts of deliveries that hooks have lost. The lock is held.
func (m *Memory) takeLost(rooms map[Address]Room) map[Address]int {
	lost := map[Address]int{}
	for hook := range rooms {
		if n := m.lost[hook]; n > 0 {
			lost[hook] = n
			delete(m.lost, hook)
		}
	}
	return lost
}

// triedDropped ends a delivery that was under way when its event was dropped. The lock is held.
func triedDropped(m *Memory, d *Delivery) {
	for to := range m.seats[d.To] {
		if to.State != "" || to.Event.ID != d.Event.ID || to.Path != d.Path {
			continue
		}
		if delete(m.seats[d.To], to); d.State == Waiting {
			m.lost[d.To]++
		}
	}
}
