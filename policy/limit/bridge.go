package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy"
)

// freshFor is how old what was last known of a team's quotas may be when Redis goes away.
const freshFor = 30 * time.Second

// largestImages is the most images that one request makes: no share of a bucket is smaller.
const largestImages = 5

// bridge is what a process needs to know of one team to go on without Redis.
type bridge struct {
	id    string
	local atomic.Bool // something was admitted here that Redis does not know yet: the team stays here until it does
	team  atomic.Pointer[policy.Team]
	seen  atomic.Int64 // Unix nanoseconds of the last request
	known atomic.Int64 // of the last answer of Redis about this team
	asked atomic.Int64 // of the last that told of all that the team used, whether it is limited or not

	joining sync.Mutex // one at a time

	mu    sync.Mutex
	since time.Time // when Redis went away, for this team; zero: it is there
	posts []*Charge // that are on their way to Redis; their ids make a second attempt harmless
}

func (b *bridge) see(team *policy.Team, now time.Time) {
	b.seen.Store(now.UnixNano())
	if b.team.Load() != team {
		b.team.Store(team)
	}
}

// stays reports whether the team is without Redis, once the round that may bring it back has ended: whoever waited for
// that would else take the team away again.
func (b *bridge) stays() bool {
	if !b.local.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.local.Load()
}

// fresh notes that Redis has just told how a team stands, and what time it is there.
func (s *Shared) fresh(b *bridge) {
	now := s.Now()
	b.known.Store(now.UnixNano())
	if last, ok := s.Redis.lastState(b.id); ok {
		s.standby.ahead.Store(int64(last.at.Sub(now)))
	}
}

// admitLocally decides a hold without Redis. cause is why: only ErrAway says for certain that Redis does not hold it.
func (s *Shared) admitLocally(b *bridge, h *Hold, t *terms, cause error) (Verdict, error) {
	doubtful := !errors.Is(cause, ErrAway)
	v, err := s.decideLocally(b, h, t, cause)
	if doubtful && v.Held == nil { // what Redis may hold for it is given back
		s.queue.keep(job{charge: &Charge{Held: heldOf(h, calendarOf(s.standby.dated(s.Now())), t.rateSet()), Team: h.Team}})
	}
	return v, err
}

func (s *Shared) decideLocally(b *bridge, h *Hold, t *terms, cause error) (Verdict, error) {
	if s.Refuse {
		return Verdict{}, cause
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.Now()
	if s.anotherOutage(b) {
		b.since = now
	}
	last, ok := s.lastKnown(b, t)
	if !ok {
		return Verdict{}, fmt.Errorf("%w, and Redis is away: %w", errUnknown, cause)
	}
	share := t.share(last, s.Replicas, calendarOf(s.standby.dated(now)))
	small := *h
	if r := share.rates[Tokens]; r.Limit > 0 { // an estimate is never too large, for a share of the bucket neither
		small.Amounts[Tokens] = min(h.Amounts[Tokens], max(r.Burst/4, 1))
	}
	st, err := s.standby.admit(context.Background(), &small, &share)
	if err != nil {
		return Verdict{}, err
	}
	short := st.fault >= limitQuotas && st.outcome == refused
	st.add(last)
	if short && !st.wouldRefuse(t, &small) {
		return Verdict{}, fmt.Errorf("this process's share is spent, and Redis is away: %w", cause)
	}
	v := st.verdict(t, &small)
	if v.Held == nil {
		return v, nil
	}
	if fault, wait := s.standby.takeAccount(&small, false, s.Replicas); wait > 0 {
		_, _ = s.standby.settle(context.Background(), &Charge{Held: v.Held}, &share)
		return v.refuseAccount(fault, wait, h), nil
	}
	here := *v.Held // the standby's own never changes
	here.Account, here.local = h.Account, true
	v.Held = &here
	if !errors.Is(cause, ErrAway) { // Redis may hold it, too
		_, _ = s.standby.setApart(v.Held)
	}
	b.local.Store(true)
	return v, nil
}

// anotherOutage reports whether Redis was there since it went away for a team: the team has nothing here, and Redis told
// of it, or went away again, later. The lock is held.
func (s *Shared) anotherOutage(b *bridge) bool {
	away := s.away.Load()
	return b.since.IsZero() || !b.local.Load() && (b.known.Load() > b.since.UnixNano() || away != nil && away.After(b.since))
}

// lastKnown returns what Redis last said of the team, where that was fresh when Redis went away. A team without quotas
// needs no knowledge.
func (s *Shared) lastKnown(b *bridge, t *terms) (*state, bool) {
	since := b.since
	if away := s.away.Load(); away != nil && away.Before(since) {
		since = *away
	}
	last, _ := s.Redis.lastState(b.id)
	if last != nil && since.Sub(time.Unix(0, b.known.Load())) <= freshFor {
		return last, true
	}
	return new(state), !t.counts()
}

// counts reports whether something is limited that only a memory can tell.
func (t *terms) counts() bool {
	for _, q := range t.quotas {
		if q != none {
			return true
		}
	}
	return t.tasks != none
}

// share is this process's part of a team's limits: rates by the number of replicas, and of quotas and open tasks what
// was left, likewise.
func (t *terms) share(last *state, replicas int, date calendar) terms {
	mine := *t
	n := int64(replicas)
	for i := range mine.rates {
		mine.rates[i] = shareOf(t.rates[i], n)
	}
	for q, limit := range t.quotas {
		if limit == none {
			continue
		}
		left := limit
		if last.date.period(q) == date.period(q) {
			left = limit - last.used[q] - last.held[q]
		}
		mine.quotas[q] = max(left, 0) / n
	}
	if t.tasks != none {
		mine.tasks = max(t.tasks-last.tasks, 0) / n
	}
	return mine
}

// shareOf spreads a rate over its replicas. The period grows rather than that the limit shrinks: 5 per second of three
// replicas is 5 per 3 seconds each.
func shareOf(r policy.Rate, replicas int64) policy.Rate {
	if r.Limit == 0 {
		return r
	}
	least := int64(1)
	if r.Unit == policy.UnitImages {
		least = min(largestImages, r.Burst)
	}
	r.Per *= time.Duration(replicas)
	r.Burst = max(r.Burst/replicas, least)
	return r
}

// add counts what Redis last said of a team to what the standby says.
func (s *state) add(last *state) {
	for q := range s.used {
		if last.date.period(q) == s.date.period(q) {
			s.used[q] += last.used[q]
			s.held[q] += last.held[q]
		}
	}
	s.tasks += last.tasks
}

// wouldRefuse reports whether the whole of a quota or of the open tasks has no room either.
func (s *state) wouldRefuse(t *terms, h *Hold) bool {
	again := *s
	again.decide(t, h, [rateCount]time.Duration{})
	return again.fault != limitNone
}

// debit takes what Redis admitted from the standby's buckets too.
func (s *Shared) debit(h *Hold, held *Held, t *terms) {
	s.standby.correct(held, t, s.Replicas, Amounts{}, h.Amounts)
	if len(h.Account) > 0 {
		_, _ = s.standby.takeAccount(h, true, s.Replicas)
	}
}

// settleLocally settles a hold of the standby, and reports whether Redis has nothing to do with it.
func (s *Shared) settleLocally(c *Charge) bool {
	t := termsOf(c.Team)
	used := c.Amounts.bound()
	b := s.bridge(c.Held.Team)
	here, apart := false, false
	if b.local.Load() && s.standby.holds(c.Held) { // who settles what Redis has does not wait for the team's return
		b.mu.Lock()
		here, apart = s.standby.settleHere(c, used, &t, s.Replicas)
		b.mu.Unlock()
	}
	if here && len(c.Held.Account) > 0 {
		s.standby.correctAccount(c, s.Replicas)
	}
	return here && !apart
}

// correct brings the standby's buckets to what was used of a hold that Redis has just settled.
func (s *Shared) correct(c *Charge) {
	if s.Refuse || c.sum || c.Held.local {
		return
	}
	t := termsOf(c.Team)
	s.standby.correct(c.Held, &t, s.Replicas, c.Held.Amounts, c.Amounts.bound())
	if len(c.Held.Account) > 0 {
		s.standby.correctAccount(c, s.Replicas)
	}
}
