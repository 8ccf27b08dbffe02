package failover

import (
	"context"
	"slices"
	"time"
)

// kill ends a replica immediately, and starts another in its place.
func (w *world) kill(r *replica) {
	w.calm = false
	r.lost = true
	w.cutOff(r)
	w.replace(r)
}

// replace cuts a replica off for good, and starts another.
func (w *world) replace(r *replica) {
	i := slices.Index(w.replicas, r)
	r.wire.set(isAway, 0)
	for n := range w.editions {
		if e := &w.editions[n]; e.by == r && e.until.IsZero() {
			e.until = time.Now()
		}
	}
	r.ended = time.Now()
	w.former = append(w.former, r)
	w.replicas[i] = nil
	time.Sleep(time.Second) // the time that a process takes to start
	w.tendAll()
	w.launch(i)
}

// restart stops a replica in order, and starts another. Its running requests end first; tasks go on.
func (w *world) restart(r *replica) {
	for _, q := range w.requests {
		if q.by == r && !q.settled && !q.task {
			w.charge(r, q, q.amounts, false)
		}
	}
	w.calm = false // an allowance may be left until its lease ends
	r.lost = r.wire.now() != works
	if err := r.shared.Close(context.Background()); err != nil {
		w.say("    %s: %v", r.name, err)
		r.lost = true
	}
	w.cutOff(r)
	w.replace(r)
}
