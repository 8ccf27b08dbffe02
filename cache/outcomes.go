package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// IdempotencyName names a request that must run once: its team, and a digest of its path and Idempotency-Key; without
// such a key, a digest of everything by which equal requests are recognized.
type IdempotencyName struct{ Team, Digest string }

// equals returns the name that all requests equal to this one share; ok is false if the request has no such name.
func (n IdempotencyName) equals() (all IdempotencyName, ok bool) {
	digest, _, ok := strings.Cut(n.Digest, ".")
	return IdempotencyName{n.Team, digest}, ok
}

// Outcome is the result of a request that runs once.
type Outcome struct {
	Body    [sha256.Size]byte // the digest of the request's body
	Started time.Time         // when the request began
	Token   string            // unique to the request
	Status  int               // HTTP status; 0 while it runs
	Header  map[string]string
	Answer  []byte // the answer's body
}

// Outcomes remembers outcomes in this process's memory for the life of tasks. It is safe for concurrent use. Create it
// with [NewOutcomes].
type Outcomes struct {
	ttl     time.Duration
	now     func() time.Time
	mu      sync.Mutex
	byName  map[IdempotencyName]*Outcome
	equal   map[IdempotencyName][]*equalCall // equal requests, newest last
	oldest  []outcomeEntry
	refused []outcomeEntry // attempts that wait for their repetitions, oldest first
	ended   []endedRequest // requests that ended before they began, oldest first
}

// ErrEnded is the error of a request that ended before it began: its caller has given up.
var ErrEnded = errors.New("the request has ended before it began")

const (
	// endedFor is how long a request that ended before it began is remembered: TCP delivers no call later.
	endedFor = 15 * time.Minute
	// mostEnded is how many of them are kept in memory.
	mostEnded = 10_000
)

type endedRequest struct {
	token string
	at    time.Time
}

type outcomeEntry struct {
	name IdempotencyName
	at   time.Time
	is   *Outcome
}

// NewOutcomes makes an empty store. ttl is how long an outcome is remembered; now is the clock.
func NewOutcomes(ttl time.Duration, now func() time.Time) *Outcomes {
	return &Outcomes{ttl: ttl, now: now, byName: make(map[IdempotencyName]*Outcome), equal: make(map[IdempotencyName][]*equalCall)}
}

// Begin lets the first request with a name run; to all others it returns what is remembered of the first. The token is
// unique to the request; End uses it. If the request has already ended, it takes no name and the error is [ErrEnded].
func (o *Outcomes) Begin(_ context.Context, name IdempotencyName, body [sha256.Size]byte, token string) (was Outcome, first bool,
	err error,
) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire()
	if o.hasEnded(token) {
		return was, false, ErrEnded
	}
	was, first = o.begin(name, body, token)
	return was, first, nil
}

// hasEnded reports whether a request ended before it began. The lock is held.
func (o *Outcomes) hasEnded(token string) bool {
	return slices.ContainsFunc(o.ended, func(e endedRequest) bool { return e.token == token })
}

// begin is Begin. The lock is held.
func (o *Outcomes) begin(name IdempotencyName, body [sha256.Size]byte, token string) (was Outcome, first bool) {
	if known := o.byName[name]; known != nil {
		return *known, false
	}
	if _, c := o.equalTo(name); c != nil {
		c.refused = time.Time{} // it runs again
	}
	running := Outcome{Body: body, Started: o.now(), Token: token}
	o.byName[name] = &running
	return running, true
}

// End remembers the outcome. Without a status it forgets the request, which may be made again; if the name is not this
// request's, its Begin or Join is late or was lost, and will take no name.
func (o *Outcomes) End(_ context.Context, name IdempotencyName, _ [sha256.Size]byte, outcome Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.byName[name]
	switch {
	case outcome.Status == 0 && (known == nil || known.Token != outcome.Token): // the name is another request's
		o.ended = append(o.ended[max(0, len(o.ended)-mostEnded+1):], endedRequest{outcome.Token, o.now()})
	case known == nil:
	case outcome.Status == 0:
		o.refuse(name)
	default:
		*known = outcome
		o.oldest = append(o.oldest, outcomeEntry{name, o.now(), known})
	}
}

// forget drops a name. The lock is held.
func (o *Outcomes) forget(name IdempotencyName) {
	delete(o.byName, name)
	all, gone := o.equalTo(name)
	o.equal[all] = slices.DeleteFunc(o.equal[all], func(other *equalCall) bool { return other == gone })
	if len(o.equal[all]) == 0 {
		delete(o.equal, all)
	}
}

// expire forgets outcomes older than the TTL, and refused attempts whose repetition did not arrive. The lock is held.
func (o *Outcomes) expire() {
	o.expireRefused()
	for len(o.ended) > 0 && o.now().Sub(o.ended[0].at) > endedFor {
		o.ended = o.ended[1:]
	}
	limit := o.now().Add(-o.ttl)
	for len(o.oldest) > 0 && o.oldest[0].at.Before(limit) {
		gone := o.oldest[0]
		o.oldest = o.oldest[1:]
		if o.byName[gone.name] == gone.is {
			o.forget(gone.name)
		}
	}
}
