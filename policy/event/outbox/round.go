package outbox

import (
	"strings"

	"sluice/policy/event"
)

// takeBatch is how many owners' deliveries are taken in one round trip, so that a distant Redis is asked a few times and not once for each
// owner, and its answer fits into a call's time.
const takeBatch = 64

// waits is an owner of events, and the names of the hooks for which events may be due.
type waits struct {
	owner string
	hooks []string
	most  []int   // deliveries to take, by hook
	all   int     // deliveries to take
	next  []int64 // when the next delivery is due, by hook, ms; below 0: none waits; nil: unknown
}

// round is what a call of Due took.
type round struct {
	name    string // of its seats
	ends    int64  // when another call may take its pairs, ms
	waiting []*waits
	seats   map[event.Address]int // granted to it
	pairs   map[event.Address]int // of the hook, which have no share of its seats yet
	taken   map[event.Address][]any
	list    []event.Delivery
	lost    map[event.Address]int
}

// share divides the room for so many deliveries evenly among owners, and the seats of each hook among its owners, and returns how many of
// the owners are asked together. What these leave is for those that follow.
func (r *round) share(owners []*waits, most int) (n int) {
	given := map[event.Address]int{}
	for left := most; n < min(len(owners), takeBatch) && (left > 0 || most == 0); n++ {
		w, seats := owners[n], 0
		w.most = make([]int, len(w.hooks))
		for i, hook := range w.hooks {
			to := addressOf(w.owner, hook)
			w.most[i] = portion(r.seats[to]-len(r.taken[to])-given[to], r.pairs[to])
			given[to] += w.most[i]
			seats += w.most[i]
			r.pairs[to]--
		}
		w.all = min(seats, portion(left, len(owners)-n))
		left -= w.all
	}
	return n
}

// portion is the larger part of n that is divided evenly.
func portion(n, by int) int { return (n + by - 1) / by }

// read adds what was taken of an owner's deliveries.
func (r *round) read(w *waits, all []any) error {
	in := reply{rest: all}
	for _, hook := range w.hooks {
		to := addressOf(w.owner, hook)
		w.next = append(w.next, in.number())
		if lost := in.number(); lost > 0 {
			r.lost[to] += int(lost)
		}
		for n := in.number(); n > 0 && in.err == nil; n-- {
			place, path, _ := strings.Cut(in.text(), " ")
			d := event.Delivery{Event: in.event(w.owner, place), To: to, Path: path}
			in.tried(&d)
			r.list, r.taken[to] = append(r.list, d), append(r.taken[to], seatOf(&d))
		}
	}
	if in.err != nil {
		w.next = nil
	}
	return in.err
}
