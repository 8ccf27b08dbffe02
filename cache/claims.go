// Package cache reads and keeps answers about asynchronous tasks, and the claims that say which team a task belongs to.
//
// It answers three questions: which team made this task, what was last heard of it, and what would the service's list of
// tasks show its owner. It has two forms: in memory ([Claims], [Queries], [Outcomes]) and in Redis ([Redis]). It is not a
// general cache, never queries the service itself, and knows neither limits nor HTTP.
//
// It promises that a claim is visible once Put returns, that a task is shown only to the team that made it, and that it
// forgets a task when the service does.
package cache

import (
	"context"
	"sync"
	"time"
)

// Claim is a team's task and the last answer about it.
type Claim struct {
	Team    string
	Key     string // public id of the key that made the task; every key of the team may read the task
	Task    string
	Model   string
	Created time.Time // by this process's clock

	Hold Hold // what the creation holds; zero: nothing

	Answer  Answer    // the last one, read
	Body    []byte    // the last one as it came; at first that to the creation. MUST NOT be changed
	Fetched time.Time // when Body was received

	Trace  string      // traceparent of the creation's span; empty: none was recorded
	Served int64       // polls answered, as far as Redis knows; see [Claim.Polls]
	Sent   int64       // queries sent, as far as Redis knows
	Counts *PollCounts // what Redis does not know of it yet; the store makes it

	Queries int // the finisher's queries since the last one for a client's poll

	written string // when it was written, by Redis's clock; empty: not yet
	fetched int64  // Fetched by Redis's clock; 0: not written
}

// HeardAfter reports whether c's answer came after that of another claim of the same task.
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
	Tag      string `json:",omitzero"` // for the ledger of tags, as the accounts write it; empty: none
	Day      int    // of admission, which the cost belongs to: yyyymmdd and yyyymm, in UTC
	Month    int
	Images   int64 // how many pictures are held
	Price    int64 // of one picture at admission, in 10⁻⁹ of the currency
}

// Claims keeps claims in this process's memory for the life of the tasks. It is safe for concurrent use. Create it with
// [NewClaims].
type Claims struct {
	ttl time.Duration
	now func() time.Time

	mu     sync.Mutex
	byTask map[owned]*Claim
	owners map[string]string    // the team of each task
	byTeam map[string][]*Claim  // oldest first
	oldest []*Claim             // all of them, oldest first
	turns  map[*Claim]turn      // of tasks that were queried
	due    map[*Claim]time.Time // when the finisher queries tasks that have not ended
	round  int                  // how often the finisher came
}

// owned names a claim. The team is part of it, so that another team's look-up cannot find it.
type owned struct{ team, task string }

// NewClaims makes an empty store. ttl is how long the service knows a task; now is the clock.
func NewClaims(ttl time.Duration, now func() time.Time) *Claims {
	return &Claims{ttl: ttl, now: now, byTask: make(map[owned]*Claim), owners: make(map[string]string), byTeam: make(map[string][]*Claim), due: make(map[*Claim]time.Time), turns: make(map[*Claim]turn)}
}

// Put claims a task for a team, and reports whether it is the team's. A task that is claimed already stays as it is.
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
	claim.Fetched, claim.Counts = claim.Created, new(PollCounts)
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

// Turn is who may query the service about a task.
type Turn int

// The turns.
const (
	Mine    Turn = iota // the caller
	Busy                // another caller, who does so now
	Resting             // no caller: a query failed a moment ago
)

// turnTime is how long one caller may take to query the service before another does.
const turnTime = 12 * time.Second

// turn is when the service may be queried about a task again.
type turn struct {
	until time.Time
	is    Turn // Busy or Resting
}

// Take lets one caller query the service about a task, until the answer is heard or the task is released.
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

// Release lets others query again once that long has passed.
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

// Hear records an answer about a claimed task and returns the claim as it then stands. An answer without a state, or with an
// earlier one than is known, changes nothing. queries becomes [Claim.Queries].
func (c *Claims) Hear(_ context.Context, heard *Claim, answer Answer, body []byte, queries int) (Claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.byTask[owned{heard.Team, heard.Task}]
	if claim == nil {
		return *heard, nil
	}
	if claim.Answer.passes(answer) {
		claim.Answer, claim.Body, claim.Fetched = answer, body, c.now()
	}
	claim.Queries = queries
	served, sent := claim.Counts.take()
	claim.Served, claim.Sent = claim.Served+served, claim.Sent+sent
	delete(c.turns, claim)
	if claim.Final() {
		delete(c.due, claim)
	}
	return *claim, nil
}

// passes reports whether the next answer replaces a: its state is at least as far.
func (a *Answer) passes(next Answer) bool {
	return next.Status.rank() > 0 && next.Status.rank() >= a.Status.rank() && !a.Status.Final()
}

// expire forgets tasks that the service has forgotten. The lock is held.
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
