package limit

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// outside are the scopes outside of the teams, in memory: the buckets of the accounts at the service, by the names of their scopes.
type outside struct {
	now  func() time.Time
	dry  *atomic.Bool // buckets that are new now are empty
	mu   sync.Mutex
	last time.Time
	of   map[string]*buckets
}

// time returns a time that never goes back. The lock is held.
func (o *outside) time() time.Time {
	if t := o.now(); t.After(o.last) {
		o.last = t
	}
	return o.last
}

func (o *outside) buckets(s *Scope, now time.Time) *buckets {
	b := o.of[s.Name]
	if b == nil {
		b = new(buckets)
		o.of[s.Name] = b
	}
	b.fit(s, o.dry.Load(), now)
	return b
}

// take takes from the rates of all scopes, divided by the replicas, or from none, and returns the rate with the longest wait. With force
// it takes even if a bucket is empty.
func (o *outside) take(scopes []Scope, amounts *Amounts, force bool, replicas int) (fault teams.Rate, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.time()
	if !force {
		fault, wait = o.longest(scopes, amounts, replicas, now)
	}
	for i := 0; wait == 0 && i < len(scopes); i++ {
		s := scopes[i].share(replicas)
		takes := s.Takes(amounts)
		o.buckets(&s, now).take(&s, &takes, new([RateCount]int64), now)
	}
	return fault, wait
}

// look returns what take would, and takes nothing.
func (o *outside) look(scopes []Scope, amounts *Amounts, replicas int) (fault teams.Rate, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.longest(scopes, amounts, replicas, o.time())
}

// longest is the rate that refuses with the longest wait. The lock is held.
func (o *outside) longest(scopes []Scope, amounts *Amounts, replicas int, now time.Time) (fault teams.Rate, wait time.Duration) {
	for i := range scopes {
		s := scopes[i].share(replicas)
		b, takes := o.buckets(&s, now), s.Takes(amounts)
		missing := b.missing(&s, now)
		for u, w := range b.waits(&s, &takes, &missing) {
			if w > wait {
				fault, wait = s.Rates[u], w
			}
		}
	}
	return fault, wait
}

// move takes a moving hold from the rates of its new account and gives back to those of the old one, or does neither.
func (o *outside) move(m *Move, replicas int) (fault teams.Rate, wait time.Duration) {
	if fault, wait = o.take(m.To.Rated(), &m.To.Amounts, false, replicas); wait == 0 {
		o.correct(&Charge{Held: m.From}, replicas)
	}
	return fault, wait
}

// correct adjusts the rates that a hold was taken from to what was used.
func (o *outside) correct(c *Charge, replicas int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, used := o.time(), c.Amounts.Bound()
	for i := range c.Held.Outside {
		s := c.Held.Outside[i].share(replicas)
		held, taken := s.Takes(&c.Held.Amounts), RateSet(0)
		for u, n := range held {
			if n > 0 {
				taken |= 1 << u
			}
		}
		o.buckets(&s, now).correct(&s, taken, &held, &used, now)
	}
}
