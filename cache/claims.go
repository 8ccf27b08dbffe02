package cache

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Claims keeps claims in this process's memory for the life of the tasks. It is safe for concurrent use. Create it with
// [NewClaims].
type Claims struct {
	ttl time.Duration
	now func() time.Time

	mu     sync.Mutex
	byTask map[string]*kept
	byTeam map[string][]*kept  // oldest first
	oldest []*kept             // all of them, oldest first
	due    map[*kept]time.Time // when the finisher queries tasks that have not ended, even expired ones
	round  int                 // the number of the finisher's rounds
}

// kept is a claim, and when the service may be queried about it again.
type kept struct {
	Claim
	until time.Time
	turn  Turn // Busy or Resting until then
}

// NewClaims makes an empty store. ttl is how long the service knows a task; now is the clock.
func NewClaims(ttl time.Duration, now func() time.Time) *Claims {
	return &Claims{ttl: ttl, now: now, byTask: make(map[string]*kept), byTeam: make(map[string][]*kept), due: make(map[*kept]time.Time)}
}

// of returns a team's claim; nil if the task is absent or another team's. The lock is held.
func (c *Claims) of(team, task string) *kept {
	if claim := c.byTask[task]; claim != nil && claim.Team == team {
		return claim
	}
	return nil
}

// Owner returns the team that claimed a task. It is false for an absent task and an expired one.
func (c *Claims) Owner(_ context.Context, task string) (team string, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if claim := c.byTask[task]; claim != nil {
		return claim.Team, true, nil
	}
	return "", false, nil
}

// Put claims a task for a team and a hold, and reports whether it is theirs. A task that is claimed already stays as it is.
func (c *Claims) Put(_ context.Context, claim Claim) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if was := c.byTask[claim.Task]; was != nil {
		return was.Team == claim.Team && was.Hold.ID == claim.Hold.ID
	}
	claim.Created = c.now()
	claim.Fetched, claim.counts = claim.Created, new(counts)
	made := &kept{Claim: claim}
	c.byTask[claim.Task] = made
	c.byTeam[claim.Team] = append(c.byTeam[claim.Team], made)
	c.oldest = append(c.oldest, made)
	c.due[made] = claim.Created
	return true
}

// Get returns a team's claim. It is false for an absent task, an expired one and another team's alike.
func (c *Claims) Get(_ context.Context, team, task string) (Claim, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	claim := c.of(team, task)
	if claim == nil {
		return Claim{}, false, nil
	}
	return claim.Claim, true, nil
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

// Take lets one caller query the service about a task, until an answer is recorded or the task is released.
func (c *Claims) Take(_ context.Context, team, task string) (Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim, now := c.of(team, task), c.now()
	if claim == nil {
		return Mine, nil
	}
	if now.Before(claim.until) {
		return claim.turn, nil
	}
	claim.until, claim.turn = now.Add(turnTime), Busy
	return Mine, nil
}

// Release lets others query again after that time.
func (c *Claims) Release(_ context.Context, team, task string, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claim := c.of(team, task); claim != nil {
		claim.until, claim.turn = c.now().Add(after), Resting
	}
}

// Streamed keeps what the stream of a claimed task's creation counted, unless the task has ended. It is no answer.
func (c *Claims) Streamed(_ context.Context, streams *Claim, counted string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claim := c.of(streams.Team, streams.Task); claim != nil && !claim.Final() {
		claim.Answer.Streamed = counted
	}
}

// Hear records an answer about a claimed task and returns the resulting claim. An answer without a state, or with an
// earlier state than the known one, changes nothing. queries becomes [Claim.Queries].
func (c *Claims) Hear(_ context.Context, heard *Claim, answer Answer, body []byte, queries int) (Claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim := c.of(heard.Team, heard.Task)
	if claim == nil {
		return *heard, nil
	}
	if claim.Hold.ID != heard.Hold.ID {
		return claim.Claim, nil
	}
	if claim.Answer.passes(answer) {
		answer.Streamed = cmp.Or(answer.Streamed, claim.Answer.Streamed)
		claim.Answer, claim.Body, claim.Fetched = answer, body, c.now()
	}
	claim.Queries, claim.until = queries, time.Time{}
	claim.counts.encrypted.Store(0)
	if claim.Final() {
		delete(c.due, claim)
	}
	return claim.Claim, nil
}

// expire forgets tasks that the service has forgotten. The lock is held.
func (c *Claims) expire() {
	limit := c.now().Add(-c.ttl)
	for len(c.oldest) > 0 && c.oldest[0].Created.Before(limit) {
		gone := c.oldest[0]
		c.oldest[0] = nil
		c.oldest = c.oldest[1:]
		delete(c.byTask, gone.Task)
		if rest := c.byTeam[gone.Team][1:]; len(rest) > 0 {
			c.byTeam[gone.Team] = rest
		} else {
			delete(c.byTeam, gone.Team)
		}
	}
}

// List returns a page of the tasks of teams, newest first.
func (c *Claims) List(_ context.Context, teams []string, f Filter) (Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	return list(listed{c}, teams, f)
}

// listed lists claims in memory. The lock is held.
type listed struct{ *Claims }

func (l listed) names(teams []string, open bool, before int64, each int) (names []named, err error) {
	for _, team := range teams {
		left := each
		for _, claim := range slices.Backward(l.byTeam[team]) {
			created := claim.Created.UnixMicro()
			if open && claim.Final() || before > 0 && created >= before {
				continue
			}
			if left == 0 {
				break
			}
			names, left = append(names, named{team, claim.Task, created}), left-1
		}
	}
	slices.SortStableFunc(names, func(a, b named) int { return int(b.created - a.created) })
	return names, nil
}

func (l listed) claims(names []named, _ bool) ([]*Claim, error) {
	list := make([]*Claim, len(names))
	for i, t := range names {
		list[i] = &l.byTask[t.id].Claim
	}
	return list, nil
}

// Due hands out up to most tasks that are due, each to one caller for a while, including expired ones whose end was never seen.
// Teams get equal parts and alternate in the list; two tasks of the teams in first precede each task of others.
func (c *Claims) Due(_ context.Context, most int, first map[string]bool) ([]Claim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, due := c.now(), map[string][]*kept{}
	for claim, at := range c.due {
		if !at.After(now) {
			due[claim.Team] = append(due[claim.Team], claim)
		}
	}
	for _, claims := range due {
		slices.SortFunc(claims, func(a, b *kept) int { return c.due[a].Compare(c.due[b]) })
	}
	c.round++
	return share(slices.Collect(maps.Keys(due)), first, c.round, most, func(team string, n int) (list []Claim, more bool) {
		n = min(n, len(due[team]))
		for _, claim := range due[team][:n] {
			c.due[claim] = now.Add(handedFor)
			list = append(list, claim.Claim)
		}
		due[team] = due[team][n:]
		return list, len(due[team]) > 0
	}), nil
}

// Schedule sets when a task that has not ended is due.
func (c *Claims) Schedule(_ context.Context, claim *Claim, at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.of(claim.Team, claim.Task)
	if _, open := c.due[is]; open {
		c.due[is] = at
	}
	return nil
}

// Maintain has nothing to do in memory.
func (c *Claims) Maintain(context.Context) error { return nil }

// Forget stops handing out a task, even if it has expired.
func (c *Claims) Forget(_ context.Context, claim *Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.due, func(is *kept, _ time.Time) bool { return is.Team == claim.Team && is.Task == claim.Task })
	return nil
}
