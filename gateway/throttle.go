package gateway

import (
	"net/http"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// A key may send this many broken requests a second, and this many at once, before its requests are refused unread.
const (
	brokenRate  = 50
	brokenBurst = 200
)

// A key's refused attempts at pictures are noted at this rate, and this many at once; more are refused like any other request.
const (
	notedRate  = 50
	notedBurst = 200
)

// MostUnheld is how many first attempts at pictures that are refused for want of memory are read at once, to note what they ask for.
const MostUnheld = 64

// throttle refuses, before a body is read, a request that cannot be served now.
type throttle struct {
	strikes  *limit.Strikes
	noted    *limit.Strikes // attempts at pictures that were refused, and noted for their repetitions
	unheld   chan struct{}  // has a place for each request that is read without memory
	reached  func()         // is called when there is no such place; may be nil
	refusals *recentRefusals
	slots    *slots
	budget   *budget
}

func (t *throttle) throttle(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if wait := t.strikes.Out(s.Key); wait > 0 {
			return refuse(refuseBroken).say("This key sent more than %d broken requests a second; the next is read in %s.", brokenRate, shown(wait)).retry(wait)
		}
		if !s.route.repeats {
			if err := t.remembered(w, s); err != nil {
				return err
			}
		}
		if err := t.takeSlot(w, s); err != nil {
			if !t.notes(r, s) {
				return err
			}
			s.full = err
		}
		s.memory = t.budget.share(s.team.ID)
		if hasBody(r) && !s.memory.free() {
			if !t.notes(r, s) {
				return refuseOutOfMemory()
			}
			s.unheld = refuseOutOfMemory()
		}
		return next(w, r, s)
	}
}

// remembered refuses what was refused a moment ago.
func (t *throttle) remembered(w *reply, s *requestState) error {
	if recent := t.refusals.recall(s.Team, s.route, s.start); recent != nil && !s.team.Shadow {
		return recent.again(w.Header(), s.start)
	}
	return nil
}

// notes reports whether a request is a first attempt at pictures that its client will repeat. If it is refused, that is noted, so
// that its repetition is a request of its own: it would get the task of an equal one otherwise. That needs its body.
func (t *throttle) notes(r *http.Request, s *requestState) bool {
	number, err := strconv.Atoi(first(r.Header[retryCount]))
	return s.route.repeats && err == nil && number == 0 && len(r.Header["Idempotency-Key"]) == 0 && t.noted.Out(s.Key) == 0
}

// early is the stage that refuses what late would refuse, if the key had so many first attempts refused that they are not noted any
// more: a look at the store costs more than a refusal.
func (t *throttle) early(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if s.repeats != nil && s.repeats.attempt.Number == 0 && len(s.header["Idempotency-Key"]) == 0 && t.noted.Out(s.Key) > 0 {
			if err := t.remembered(w, s); err != nil {
				return err
			}
		}
		return next(w, r, s)
	}
}

// late is the stage that refuses what was refused a moment ago, or has no slot, once a request is known to repeat no other: a
// repetition gets what its first attempt paid for.
func (t *throttle) late(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		err := s.full
		if err == nil {
			err = t.remembered(w, s)
		}
		if err != nil && s.repeats != nil {
			t.noted.Add(s.Key)
		}
		if err != nil {
			return err
		}
		return next(w, r, s)
	}
}

// takeSlot takes one of the team's slots for requests in flight.
func (t *throttle) takeSlot(w *reply, s *requestState) error {
	slot, ok := t.slots.take(s.team)
	if !ok && !s.team.Shadow {
		slot.release()
		return refuse(refuseConcurrent).say("Team %s has %d requests in flight, which is its limit on this gateway; send the request again when one of them has ended.", s.team.ID, t.slots.most(s.team)).retry(time.Second)
	}
	if !ok {
		w.Header().Set("Sluice-Shadow", refuseConcurrent.name)
	}
	s.slot = slot
	return nil
}
