package gateway

import (
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/loads"
	"sluice/gateway/refusal"
	"sluice/gateway/repeats"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// A key may send this many broken requests a second, and bursts of this many, before its requests are refused unread.
const (
	brokenRate  = 50
	brokenBurst = 200
)

// A key's refused attempts at pictures are noted at this rate, with bursts of this many; more are refused like any other request.
const (
	notedRate  = 50
	notedBurst = 200
)

// MostUnheld is how many first attempts at pictures, refused for lack of memory, are read at the same time to note what they ask
// for.
const MostUnheld = 64

// throttle refuses, before a body is read, a request that cannot be served now.
type throttle struct {
	strikes  *repeats.Strikes
	noted    *repeats.Strikes // refused attempts at pictures that were noted for their repetitions
	unheld   chan struct{}    // has a place for each request that is read although there is no memory for it
	reached  func()           // called when there is no such place; may be nil
	refusals *repeats.Recent
	loads    *loads.Loads
	queue    *turn.Queue
}

func newThrottle(loads *loads.Loads, queue *turn.Queue, now func() time.Time, reached func()) *throttle {
	return &throttle{
		strikes: repeats.NewStrikes(brokenRate, brokenBurst, now), noted: repeats.NewStrikes(notedRate, notedBurst, now),
		unheld: make(chan struct{}, MostUnheld), reached: reached, refusals: repeats.New(), loads: loads, queue: queue,
	}
}

func (t *throttle) throttle(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if wait := t.strikes.Out(s.Key); wait > 0 {
			return refusal.New(refusal.Broken).Say("This key sent more than %d broken requests a second; the next is read in %s.", brokenRate,
				limit.WaitText(wait)).Retry(wait)
		}
		s.patience, s.preferred = wire.PreferredWait(r.Header)
		if !s.preferred {
			s.patience = s.team.Queue.Wait
		}
		if !s.route.pictures() && !s.route.free {
			if err := t.remembered(w, s); err != nil {
				return err
			}
		}
		s.share = t.loads.Share(s.Team)
		switch full, ok := t.enter(w, s); {
		case ok:
		case s.patience > 0:
			s.slotless = true
		case t.notes(r, s):
			s.full = t.refuseSlot(s, full)
		default:
			return t.refuseSlot(s, full)
		}
		if hasBody(r) && !s.share.Free() {
			if !t.notes(r, s) {
				return refuseOutOfMemory()
			}
			s.unheld = refuseOutOfMemory()
		}
		return next(w, r, s)
	}
}

// remembered refuses a request if the same was refused a moment ago, and the refusal still holds.
func (t *throttle) remembered(w *reply, s *requestState) error {
	asked := s.asked()
	v, recent := t.refusals.Recall(&asked, s.start)
	if !recent || s.team.Shadow {
		return nil
	}
	hold := &limit.Hold{Team: s.team, Key: s.ledgerKey}
	if turn.RefusalOf(&v, hold) != nil && v.Wait <= s.patience {
		return nil
	}
	setLimitHeaders(w, s, &v)
	return refusalBy(&v, hold)
}

// asked is what the request asks for, as far as it is known.
func (s *requestState) asked() repeats.Asked {
	alike := repeats.Alike{Key: s.ledgerKey, Tag: s.tag, Model: s.Model, Creates: s.creates, Size: s.size}
	return repeats.Asked{
		Team: s.Team, Text: s.route.endpoint == policy.EndpointText, Inside: limit.LimitedInside(s.team, s.ledgerKey),
		Alike: alike,
	}
}

// notes reports whether a refusal of this request must be noted: it is the first attempt at pictures of a client that repeats. The
// note makes the repetition a request of its own. Without it the repetition would get the task of an equal request. Noting needs the body.
func (t *throttle) notes(r *http.Request, s *requestState) bool {
	number, err := strconv.Atoi(wire.First(r.Header[retryCount]))
	return s.route.repeats && err == nil && number == 0 && len(r.Header["Idempotency-Key"]) == 0 && t.noted.Out(s.Key) == 0
}

// refuseRememberedBeforeLookup refuses what refuseRememberedAfterLookup would refuse, for a key with more refused first attempts
// than are noted: a lookup in the store costs more than a refusal.
func (t *throttle) refuseRememberedBeforeLookup(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if s.repeats != nil && s.repeats.attempt.Number == 0 && len(s.header["Idempotency-Key"]) == 0 && t.noted.Out(s.Key) > 0 {
			if err := t.remembered(w, s); err != nil {
				return err
			}
		}
		return next(w, r, s)
	}
}

// refuseRememberedAfterLookup refuses a request for which a remembered refusal holds, or that has no slot. It runs after runOnce,
// because a repetition must get the answer that its first attempt paid for.
func (t *throttle) refuseRememberedAfterLookup(next handler) handler {
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

// enter takes a slot for a request that has just arrived, unless others wait for one.
func (t *throttle) enter(w *reply, s *requestState) (full limit.ScopeKind, ok bool) {
	for _, slots := range [...]turn.Resource{turn.KeySlots(s.ledgerKey), turn.TeamSlots(s.Team)} {
		if t.queue.Awaited(slots) {
			return slots.Scope, false
		}
	}
	if full, ok = t.takeSlot(w, s); !ok {
		t.freed(s) // it was counted for a moment
	}
	return full, ok
}

// takeSlot takes one of the slots for requests in flight of the team, and of the key. If it cannot, it reports whose limit is reached.
func (t *throttle) takeSlot(w *reply, s *requestState) (full limit.ScopeKind, ok bool) {
	full, ok = s.share.TakeSlot(s.team, s.ledgerKey, s.limits)
	switch {
	case ok:
	case s.team.Shadow:
		w.Header().Set("Sluice-Shadow", refusal.Concurrent.Name)
	default:
		s.share.LeaveSlot()
	}
	return full, ok || s.team.Shadow
}

// refuseSlot is the refusal of a request that has no slot.
func (t *throttle) refuseSlot(s *requestState, full limit.ScopeKind) error {
	who, of, most, slots := "Team "+s.team.ID, "", t.loads.Most(limit.ScopeTeam, s.Team, s.team.Concurrent), turn.TeamSlots(s.Team)
	if full == limit.ScopeKey {
		who, of, most, slots = "Key "+s.ledgerKey, s.ledgerKey, t.loads.Most(limit.ScopeKey, s.ledgerKey, s.limits.Concurrent),
			turn.KeySlots(s.ledgerKey)
	}
	return refusal.New(refusal.Concurrent).Say("%s has %d %s in flight, which is its limit on this gateway; send the request again when "+
		"one of them has ended.",
		who, most, unit.Noun(most, "requests")).Retry(time.Second).Of(full).By(repeats.Slots(full, of, most)).
		Waits(turn.Refusal{Resource: slots, Wait: time.Second})
}

// leaveSlot gives the request's slot back, to the next request that waits for one.
func (t *throttle) leaveSlot(s *requestState) {
	s.share.LeaveSlot()
	t.freed(s)
}

func (t *throttle) freed(s *requestState) {
	if !t.queue.Idle() {
		t.queue.Freed(turn.TeamSlots(s.Team))
		t.queue.Freed(turn.KeySlots(s.ledgerKey))
	}
}
