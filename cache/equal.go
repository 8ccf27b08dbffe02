package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"
)

// mostEqual is how many equal requests are remembered: far more than run concurrently.
const mostEqual = 256

// refusedFor is how long a refused attempt waits for its repetition. Client libraries repeat within a minute.
const refusedFor = 2 * time.Minute

// Attempt is an attempt of a client at a request without an Idempotency-Key.
type Attempt struct {
	Token    string        // as of Begin
	Number   int           // 0: the first
	Counts   bool          // the client numbers its attempts, so one that is refused may be repeated
	Patience time.Duration // of a first attempt that counts: a repetition that began within it may have overtaken this one
}

// equalCall is one of several equal requests.
type equalCall struct {
	name    IdempotencyName
	attempt int       // the last that took it
	counts  bool      // its client numbers its attempts
	early   bool      // a repetition whose first attempt has not arrived
	left    bool      // the client of its last attempt left without the answer
	begun   time.Time // when the first of its attempts arrived
	refused time.Time // when it was refused; zero: it was not
}

// rank is how well a call suits a repetition; negative if another repetition has taken it already.
func (c *equalCall) rank(attempt int, now time.Time) (rank int, ok bool) {
	refused := !c.refused.IsZero()
	switch {
	case c.attempt >= attempt:
		return -1, !refused
	case refused:
		return 3*c.attempt + 1, now.Sub(c.refused) <= refusedFor
	case c.left:
		return 3*c.attempt + 2, true
	}
	return 3 * c.attempt, true
}

// Join lets a first attempt run under a new name. A repetition takes one of the equal requests: of those that no
// repetition with its number or a later one has taken, the one with the latest attempt; of several, one whose client
// has left, then one that was refused and thus runs again, then the newest. If all are taken, it takes the newest; if
// there are none, it runs under a new name. A first attempt that arrives after such a repetition takes its request,
// because it may merely be late.
func (o *Outcomes) Join(_ context.Context, all IdempotencyName, body [sha256.Size]byte, a Attempt) (name IdempotencyName, was Outcome,
	runs bool, err error,
) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire()
	if o.hasEnded(a.Token) {
		return name, was, false, ErrEnded
	}
	now := o.now()
	if c := lateFor(o.equal[all], a, now); c != nil {
		c.early = false
		was, runs = o.begin(c.name, body, a.Token)
		return c.name, was, runs, nil
	}
	if c := bestOf(o.equal[all], a.Number, now); a.Number > 0 && c != nil {
		c.attempt, c.refused, c.left = max(c.attempt, a.Number), time.Time{}, false
		was, runs = o.begin(c.name, body, a.Token)
		return c.name, was, runs, nil
	}
	name = IdempotencyName{all.Team, all.Digest + "." + rand.Text()}
	o.trim(all)
	o.equal[all] = append(o.equal[all], &equalCall{name: name, attempt: a.Number, counts: a.Counts, early: a.Number > 0, begun: now})
	was, runs = o.begin(name, body, a.Token)
	return name, was, runs, nil
}

// Leave notes that the client of an attempt left without the answer: this client may repeat the request.
func (o *Outcomes) Leave(_ context.Context, name IdempotencyName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, c := o.equalTo(name); c != nil {
		c.left = true
	}
}

// bestOf returns the call that a repetition takes; nil: none. calls are in the order in which they began.
func bestOf(calls []*equalCall, attempt int, now time.Time) (best *equalCall) {
	most := 0
	for _, c := range calls {
		if rank, ok := c.rank(attempt, now); ok && (best == nil || rank >= most) {
			best, most = c, rank
		}
	}
	return best
}

// lateFor returns the oldest repetition to which a late first attempt may belong; nil: none.
func lateFor(calls []*equalCall, a Attempt, now time.Time) *equalCall {
	if a.Number > 0 || !a.Counts {
		return nil
	}
	for _, c := range calls {
		if c.early && now.Sub(c.begun) <= a.Patience && (c.refused.IsZero() || now.Sub(c.refused) <= refusedFor) {
			return c
		}
	}
	return nil
}

// trim makes room for another equal request. The lock is held.
func (o *Outcomes) trim(all IdempotencyName) {
	if calls := o.equal[all]; len(calls) >= mostEqual {
		gone := max(0, slices.IndexFunc(calls, func(c *equalCall) bool { return !c.refused.IsZero() }))
		o.equal[all] = slices.Delete(calls, gone, gone+1)
	}
}

// equalTo finds a request among its equals. The lock is held.
func (o *Outcomes) equalTo(name IdempotencyName) (all IdempotencyName, c *equalCall) {
	all, _ = name.equals()
	for _, c := range o.equal[all] {
		if c.name == name {
			return all, c
		}
	}
	return all, nil
}

// refuse notes that a request was refused. A repetition of it, which may arrive or already waits, runs in its place.
// The lock is held.
func (o *Outcomes) refuse(name IdempotencyName) {
	switch _, c := o.equalTo(name); {
	case c == nil:
	case c.counts || c.attempt > 0:
		c.refused = o.now()
		delete(o.byName, name)
		o.refused = append(o.refused, outcomeEntry{name: name, at: c.refused})
		return
	}
	o.forget(name)
}

// expireRefused forgets the refused attempts that have waited too long. The lock is held.
func (o *Outcomes) expireRefused() {
	limit := o.now().Add(-refusedFor)
	for len(o.refused) > 0 && o.refused[0].at.Before(limit) {
		gone := o.refused[0]
		o.refused = o.refused[1:]
		if _, c := o.equalTo(gone.name); c != nil && c.refused.Equal(gone.at) { // else it runs again, or was refused again
			o.forget(gone.name)
		}
	}
}
