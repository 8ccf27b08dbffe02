package gateway

import (
	"net/http"
	"strconv"
)

// A key's refused attempts at pictures are noted at this rate, and this many at once; more are refused like any other request.
const (
	notedRate  = 50
	notedBurst = 200
)

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
		if err != nil {
			t.noted.Add(s.Key)
			return err
		}
		return next(w, r, s)
	}
}
