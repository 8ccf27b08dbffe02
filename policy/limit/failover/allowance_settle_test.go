package failover

import (
	"context"
	"slices"
	"time"

	"sluice/policy/limit"
)

// settle reports the use of some open requests to a replica, the oldest first.
func (w *world) settle(r *replica, a act, of func(q *request) bool) {
	n := 0
	for _, q := range w.requests {
		if n < a.times && !q.settled && of(q) {
			n++
			w.charge(r, q, truthOf(q, a.truth), a.guess)
		}
	}
	w.say("    %d are settled", n)
	if !a.hurry {
		time.Sleep(2 * settlePause)
	}
}

// truthOf is the use of a request. No image request uses more than it holds.
func truthOf(q *request, truth string) limit.Amounts {
	used := q.amounts
	switch truth {
	case "nothing":
		return limit.Amounts{}
	case "half":
		used = limit.Amounts{1, used[limit.Tokens] / 2, used[limit.Images] / 2, used[limit.Spend] / 2}
	case "more":
		used[limit.Tokens] *= 2
		if used[limit.Images] == 0 {
			used[limit.Spend] *= 2
		}
	}
	return used
}

func (w *world) charge(r *replica, q *request, used limit.Amounts, guess bool) {
	q.settled, q.used, q.guess, q.through = true, used, guess, r
	w.tell(r, q)
}

// tell settles a request as its replica does after the answer; a task's end is settled before its poll is answered.
func (w *world) tell(r *replica, q *request) {
	c := &limit.Charge{Held: q.held, Team: r.teams[q.team], Amounts: q.used, Estimated: q.guess, Taken: func(bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		q.taken++
	}}
	if q.task {
		_, _ = r.shared.Settle(context.Background(), c)
	} else {
		r.shared.SettleLater(c)
	}
}

// repeat settles the last settled task again: several replicas learn of its end.
func (w *world) repeat(r *replica) {
	for _, q := range slices.Backward(w.requests) {
		if q.settled && q.task {
			_, _ = r.shared.Settle(context.Background(), &limit.Charge{Held: q.held, Team: r.teams[q.team], Amounts: q.used, Estimated: q.guess})
			return
		}
	}
}

// extend gives the open tasks of a replica a longer lease, as their creation does.
func (w *world) extend(r *replica) {
	for _, q := range w.requests {
		if q.by == r && q.task && !q.settled && time.Until(q.due) > 0 {
			if err := r.shared.Extend(context.Background(), q.held, time.Hour); err != nil {
				w.say("%s: %v", r.name, err)
			}
		}
	}
}
