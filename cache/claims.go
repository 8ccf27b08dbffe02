package cache

import (
	"context"
	"sync"
	"time"
)

// Claim says whose task is whose, and what was last heard of the task.
type Claim struct {
	Team    string
	Key     string // public id of the key that made the task; any key of the team may read it
	Task    string
	Model   string
	Created time.Time // when the claim was made, by this process's clock

	Hold Hold // what the task's creation holds; zero where nothing is

	Answer  Answer    // what the last answer said
	Body    []byte    // the last answer as it came; the creation's own is the first. Not to be changed
	Fetched time.Time // when Body was received

	Trace  string // traceparent of the creation's span; empty: none was recorded
	Served int64  // polls that were answered, as far as processes have told; see [Claim.Polls]
	Sent   int64  // queries that were sent, likewise
	Tally  *Tally // what this process has not told yet; the store makes it

	Asks int // how often the finisher asked since a client's poll did

	written string // names its writing to Redis: another one is of another memory
	fetched int64  // Fetched as Redis keeps it, whatever the way here took; 0: Redis was not told
}

// HeardAfter reports whether its answer was heard after another's of the same task.
func (c *Claim) HeardAfter(other *Claim) bool {
	if c.fetched > 0 && other.fetched > 0 {
		return c.fetched > other.fetched
	}
	return c.Fetched.After(other.Fetched)
}

// Final reports whether the task has ended.
func (c *Claim) Final() bool { return c.Answer.Status.Final() }

// Hold names what a task's creation holds until the task ends.
type Hold struct {
	ID       string
	Endpoint string // where the task was made, for the ledger
	Day      int    // yyyymmdd and yyyymm of its admission, in UTC, which the cost belongs to
	Month    int
	Images   int64 // how many pictures are held
	Price    int64 // of one picture at admission, in 10⁻⁹ of the currency
}

// Claims keeps claims in this process's memory for the life of the tasks. It is safe for concurrent use. The zero
// value is not ready; use [NewClaims].
type Claims struct {
	ttl time.Duration
	now func() time.Time

	mu     sync.Mutex
	byTask map[owned]*Claim
	owners map[string]string    // the team that claimed a task
	byTeam map[string][]*Claim  // oldest first
	oldest []*Claim             // all of them, oldest first
	turns  map[*Claim]turn      // of those that were asked for
	due    map[*Claim]time.Time // when the finisher asks for those that have not ended
	round  int                  // how often the finisher came
}

// owned is a claim's name. The team is part of it: a look-up by another team cannot find what it must not see.
type owned struct{ team, task string }

// NewClaims makes an empty store. ttl is how long the service knows a task; now is the clock.
func NewClaims(ttl time.Duration, now func() time.Time) *Claims {
	return &Claims{ttl: ttl, now: now, byTask: make(map[owned]*Claim), owners: make(map[string]string), byTeam: make(map[string][]*Claim), due: make(map[*Claim]time.Time), turns: make(map[*Claim]turn)}
}

// Put claims a task for a team from this moment on, and reports whether it is the team's. A task that is claimed already stays
// as it is.
func (c *Claims) Put(_ context.Context, claim Claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	name := owned{claim.Team, claim.Task}
	if team, claimed := c.owners[claim.Task]; claimed {
		return team == claim.Team
	}
	c.owners[claim.Task] = claim.Team
	claim.Created = c.now()
	claim.Fetched, claim.Tally = claim.Created, new(Tally)
	c.byTask[name] = &claim
	c.byTeam[claim.Team] = append(c.byTeam[claim.Team], &claim)
	c.oldest = append(c.oldest, &claim)
	c.due[&claim] = claim.Created
	return true
}

// Get returns a team's claim. An absent task, an expired one and another team's are one answer: false.
func (c *Claims) Get(_ context.Context, team, task string) (Claim, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	claim := c.byTask[owned{team, task}]
	if claim == nil {
		return Claim{}, false, nil
	}
	return *claim, true, nil
}

// Turn is whose turn it is to ask upstream about a task.
type Turn int

// The turns.
const (
	Mine    Turn = iota // the caller's
	Busy                // another's, who is asking
	Resting             // nobody's: somebody asked a moment ago and was not answered
)

// turnTime is how long one caller may take to query the service before another does.
const turnTime = 12 * time.Second

// turn is when a task may be asked for again.
type turn struct {
	until time.Time
	is    Turn // Busy or Resting
}

// Take lets one caller ask upstream about a task, until the answer is heard or the task is released.
func (c *Claims) Take(_ context.Context, team, task string) (Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.byTask[owned{team, task}]
	if claim == nil {
		return Mine, nil
	}
	if t, taken := c.turns[claim]; taken && c.now().Before(t.until) {
		return t.is, nil
	}
	c.turns[claim] = turn{c.now().Add(turnTime), Busy}
	return Mine, nil
}

// Release lets others ask again once that long has passed.
func (c *Claims) Release(_ context.Context, team, task string, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.byTask[owned{team, task}]
	if after > 0 && claim != nil {
		c.turns[claim] = turn{c.now().Add(after), Resting}
	} else {
		delete(c.turns, claim)
	}
}

// Hear records an answer to a query of a claimed task and returns the claim as it then stands. An answer that was
// overtaken by a later state, or that knows no state, changes nothing; asks is how often the finisher has asked.
func (c *Claims) Hear(_ context.Context, heard *Claim, answer Answer, body []byte, asks int) (Claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.byTask[owned{heard.Team, heard.Task}]
	if claim == nil {
		return *heard, nil
	}
	if claim.Answer.passes(answer) {
		claim.Answer, claim.Body, claim.Fetched = answer, body, c.now()
	}
	claim.Asks = asks
	served, sent := claim.Tally.take()
	claim.Served, claim.Sent = claim.Served+served, claim.Sent+sent
	delete(c.turns, claim)
	if claim.Final() {
		delete(c.due, claim)
	}
	return *claim, nil
}

// passes reports whether an answer is at least as far as the last one.
func (a *Answer) passes(next Answer) bool {
	return next.Status.rank() > 0 && next.Status.rank() >= a.Status.rank() && !a.Status.Final()
}

// expire forgets the tasks that the service has forgotten. Each claim is made once and forgotten once, so the work of
// all calls together grows with the number of tasks alone.
func (c *Claims) expire() {
	limit := c.now().Add(-c.ttl)
	for len(c.oldest) > 0 && c.oldest[0].Created.Before(limit) {
		gone := c.oldest[0]
		c.oldest[0] = nil
		c.oldest = c.oldest[1:]
		delete(c.byTask, owned{gone.Team, gone.Task})
		delete(c.owners, gone.Task)
		delete(c.turns, gone)
		if rest := c.byTeam[gone.Team][1:]; len(rest) > 0 {
			c.byTeam[gone.Team] = rest
		} else {
			delete(c.byTeam, gone.Team)
		}
	}
}
