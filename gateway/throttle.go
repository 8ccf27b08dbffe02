package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/gateway/loads"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
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
	strikes  *limit.Strikes
	noted    *limit.Strikes // attempts at pictures that were refused, and noted for their repetitions
	unheld   chan struct{}  // has a place for each request that is read without memory
	reached  func()         // is called when there is no such place; may be nil
	refusals *recentRefusals
	loads    *loads.Loads
	queue    *turn.Queue
}

func newThrottle(loads *loads.Loads, queue *turn.Queue, now func() time.Time, reached func()) *throttle {
	return &throttle{
		strikes: limit.NewStrikes(brokenRate, brokenBurst, now), noted: limit.NewStrikes(notedRate, notedBurst, now),
		unheld: make(chan struct{}, MostUnheld), reached: reached, refusals: newRecentRefusals(), loads: loads, queue: queue,
	}
}

func (t *throttle) throttle(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if wait := t.strikes.Out(s.Key); wait > 0 {
			return refuse(refuseBroken).say("This key sent more than %d broken requests a second; the next is read in %s.", brokenRate, limit.Shown(wait)).retry(wait)
		}
		s.patience, s.preferred = wire.PreferredWait(r.Header)
		if !s.preferred {
			s.patience = s.team.Queue.Wait
		}
		if !s.route.repeats {
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

// remembered refuses what was refused a moment ago.
func (t *throttle) remembered(w *reply, s *requestState) error {
	recent := t.refusals.recall(s.Team, s.route, s.start)
	if recent == nil || s.team.Shadow || recent.refusal.scarce != nil && recent.fits.Sub(s.start) <= s.patience {
		return nil
	}
	return recent.again(w.Header(), s.start)
}

// notes reports whether a request is a first attempt at pictures that its client will repeat. If it is refused, that is noted, so
// that its repetition is a request of its own: otherwise it would get the task of an equal one. Noting needs the body.
func (t *throttle) notes(r *http.Request, s *requestState) bool {
	number, err := strconv.Atoi(first(r.Header[retryCount]))
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

// refuseRememberedAfterLookup refuses what was refused a moment ago, and what has no slot, once the request is known to repeat no
// other: a repetition gets what its first attempt paid for.
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

// enter takes a slot for a request that has just come, unless others wait for one.
func (t *throttle) enter(w *reply, s *requestState) (full limit.ScopeKind, ok bool) {
	for _, slots := range [...]turn.Resource{turn.KeySlots(s.holder), turn.TeamSlots(s.Team)} {
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
	full, ok = s.share.TakeSlot(s.team, s.holder, s.limits)
	switch {
	case ok:
	case s.team.Shadow:
		w.Header().Set("Sluice-Shadow", refuseConcurrent.name)
	default:
		s.share.LeaveSlot()
	}
	return full, ok || s.team.Shadow
}

// refuseSlot is the refusal of a request that has no slot.
func (t *throttle) refuseSlot(s *requestState, full limit.ScopeKind) error {
	who, most, slots := "Team "+s.team.ID, t.loads.Most(s.team.Concurrent), turn.TeamSlots(s.Team)
	if full == limit.ScopeKey {
		who, most, slots = "Key "+s.holder, t.loads.Most(s.limits.Concurrent), turn.KeySlots(s.holder)
	}
	return refuse(refuseConcurrent).say("%s has %d requests in flight, which is its limit on this gateway; send the request again when one of them has ended.",
		who, most).retry(time.Second).of(full).waits(&turn.Refusal{Resource: slots, Wait: time.Second})
}

// leaveSlot lets a request that waits have a request's slot.
func (t *throttle) leaveSlot(s *requestState) {
	s.share.LeaveSlot()
	t.freed(s)
}

func (t *throttle) freed(s *requestState) {
	if !t.queue.Idle() {
		t.queue.Freed(turn.TeamSlots(s.Team))
		t.queue.Freed(turn.KeySlots(s.holder))
	}
}

// recentFor is the longest that a refusal is remembered.
const recentFor = time.Second

// recentRefusals remembers that a limit refused a team a moment ago and lets nothing through: a team that repeats its requests
// then costs no look at its accounts, and its bodies are not read. It answers only if the smallest request of a route (1 request,
// 1 token, 1 image) could not fit either. It forgets immediately when a charge of the team, which may have made room, is settled
// here, or the team's limits change.
type recentRefusals struct {
	all atomic.Pointer[allRefusals]
}

// allRefusals are those of each team, and those by the house, which hold for every team.
type allRefusals struct {
	limit.PerTeam[teamRefusals]
	house teamRefusals
}

// teamRefusals are one team's refusals, by what every request of a route needs.
type teamRefusals [needs]atomic.Pointer[recentRefusal]

const (
	needsRequest = iota // every generation
	needsTokens         // text, beside a request
	needsTask           // creations, beside a request: images, and an open task
	needs
)

// recentRefusal is a refusal that is remembered.
type recentRefusal struct {
	refusal *refusal
	header  http.Header // with the team's limits
	until   time.Time   // it is used until then
	fits    time.Time   // when the refused request would pass
}

func newRecentRefusals() *recentRefusals {
	r := new(recentRefusals)
	r.forgetAll()
	return r
}

func (r *recentRefusals) forgetAll() { r.all.Store(new(allRefusals)) }

// forget drops the refusals of a team, and those by the house: a charge makes room in both.
func (r *recentRefusals) forget(team string) {
	all := r.all.Load()
	all.Get(team).forget()
	all.house.forget()
}

func (all *teamRefusals) forget() {
	for i := range all {
		if all[i].Load() != nil { // a load costs less than a store
			all[i].Store(nil)
		}
	}
}

// remember keeps a refusal, with its headers so far, if no smaller request would have passed.
func (r *recentRefusals) remember(team string, v *limit.Verdict, recent recentRefusal) {
	need, ok := blocked(v)
	switch {
	case !ok:
	case v.Reason == limit.ReasonHouse:
		recent.header = nil // they are the team's
		r.all.Load().house[need].Store(&recent)
	default:
		recent.header = recent.header.Clone()
		ofTeam(recent.header, v)
		r.all.Load().Get(team)[need].Store(&recent)
	}
}

// ofTeam makes headers report only the team's own limits, because the next request may be for another value of its tag, or with another
// key.
func ofTeam(h http.Header, v *limit.Verdict) {
	own := slices.IndexFunc(v.Limits, func(s limit.Standing) bool { return s.Inside() }) // they are the last
	if own < 0 {
		return
	}
	h.Del("Ratelimit-Policy")
	h.Del("Ratelimit")
	if policy, left := (&limit.Verdict{Limits: v.Limits[:own]}).Fields(); policy != "" {
		h.Set("Ratelimit-Policy", policy)
		h.Set("Ratelimit", left)
	}
}

// blocked reports which routes cannot pass at all after a verdict. A smaller request than the refused one may pass, so this is
// known only if the request asked for one unit, a period is used up, or there is no room for a task.
func blocked(v *limit.Verdict) (need int, ok bool) {
	if v.Reason == limit.ReasonTasks {
		return needsTask, true
	}
	if v.Fault.Inside() { // another value of the tag, or another key, may pass
		return 0, false
	}
	quota := v.Reason == limit.ReasonQuota || v.Reason == limit.ReasonHouse
	if v.Reason != limit.ReasonRate && !quota || v.Fault.Left > 0 || v.Reason == limit.ReasonRate && v.Asked != 1 {
		return 0, false
	}
	switch v.Fault.Unit {
	case teams.UnitRequests:
		return needsRequest, true
	case teams.UnitTokens:
		return needsTokens, true
	case teams.UnitImages:
		return needsTask, true
	}
	return 0, false // a request may cost no money
}

// recall returns the refusal that holds for every request of a route, or nil.
func (r *recentRefusals) recall(team string, to *route, now time.Time) *recentRefusal {
	all := r.all.Load()
	if recent := all.Get(team).recall(to, now); recent != nil {
		return recent
	}
	return all.house.recall(to, now)
}

func (all *teamRefusals) recall(to *route, now time.Time) *recentRefusal {
	if recent := all[needsRequest].Load(); recent.holds(now) {
		return recent
	}
	need := needsRequest
	switch {
	case to.endpoint == policy.EndpointText:
		need = needsTokens
	case to.creates:
		need = needsTask
	}
	if recent := all[need].Load(); recent.holds(now) {
		return recent
	}
	return nil
}

func (r *recentRefusal) holds(now time.Time) bool { return r != nil && now.Before(r.until) }

// again is the refusal as it is now. It sets the headers that report the team's limits.
func (r *recentRefusal) again(h http.Header, now time.Time) error {
	for name, values := range r.header {
		h[name] = values
	}
	refused := *r.refusal
	return refused.keepHeaders().retry(r.fits.Sub(now))
}
