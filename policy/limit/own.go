package limit

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// own is what this process alone may know of a team's holds, for the day Redis loses its memory: those that it placed there
// and that nobody has ended, as far as it knows, and of other replicas' tasks those that it settled a short while ago, which
// their makers may still take for open.
type own struct {
	restoring chan struct{} // has one, for who puts back

	mu    sync.Mutex
	open  map[string]ownHold
	ended [3]map[string]bool // the ids of others' tasks, by how many walks ago they were settled
}

// ownHold is an open hold, and when its lease ends by Redis's clock.
type ownHold struct {
	*Held
	due time.Time
}

func newOwn() *own { return &own{restoring: make(chan struct{}, 1), open: map[string]ownHold{}} }

// placed notes a hold that Redis has.
func (o *own) placed(h *Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[h.ID] = ownHold{h, due}
}

// extended notes that a hold has a longer lease.
func (o *own) extended(id string, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, mine := o.open[id]; mine {
		o.open[id] = ownHold{h.Held, due}
	}
}

// settled notes that Redis holds something no more.
func (o *own) settled(h *Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, mine := o.open[h.ID]; mine {
		delete(o.open, h.ID)
		return
	}
	if h.Task {
		if o.ended[0] == nil {
			o.ended[0] = map[string]bool{}
		}
		o.ended[0][h.ID] = true
	}
}

// all lists what there is to tell: a hold without a due time was settled, and only its id is known.
func (o *own) all() (list []ownHold) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list = slices.Collect(maps.Values(o.open))
	for _, ids := range o.ended {
		for id := range ids {
			list = append(list, ownHold{Held: &Held{ID: id}})
		}
	}
	return list
}

// ids lists the holds that nobody has ended, as far as is known here.
func (o *own) ids() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.open))
}

// walked drops what others have ended, and what every other replica has learnt by now: each walks once a minute, and
// learns of the ends by then.
func (o *own) walked(gone []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range gone {
		delete(o.open, id)
	}
	o.ended = [3]map[string]bool{nil, o.ended[0], o.ended[1]}
}
