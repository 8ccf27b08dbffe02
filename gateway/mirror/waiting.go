package mirror

import (
	"time"

	"sluice/policy/event"
)

// waiting has the works that this replica tries, or tried last, by team and task. It has a work until its next try is over.
type waiting map[[2]string]until

type until struct {
	pictures int       // that wait
	next     time.Time // when another replica may try; zero: it is under way here
}

func (w waiting) begin(of *event.Work) { w[[2]string{of.Team, of.Task}] = until{pictures: left(of)} }

// forget drops what another replica has tried by now.
func (w waiting) forget(now time.Time) {
	for name, u := range w {
		if !u.next.IsZero() && now.After(u.next.Add(event.Lease)) {
			delete(w, name)
		}
	}
}

// left is how many pictures of a work wait.
func left(of *event.Work) (n int) {
	for _, p := range of.Pictures {
		if p.State == event.PictureWaits {
			n++
		}
	}
	return n
}

// note notes the end of a try, and when the next begins; zero: there is none.
func (m *Mirror) note(w *event.Work, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name := [2]string{w.Team, w.Task}; next.IsZero() {
		delete(m.waits, name)
	} else {
		m.waits[name] = until{left(w), next}
	}
}

// Waiting is how many pictures of the works that this replica tried last wait.
func (m *Mirror) Waiting() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.waits {
		n += u.pictures
	}
	return n
}
