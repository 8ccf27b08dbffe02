package stores

import (
	"context"
	"maps"
	"slices"
	"sync"

	"sluice/policy/teams"
)

// Calls bounds the concurrent calls of the stores for one team. Otherwise a team that makes more requests than the stores answer
// would take every connection, and the requests of all others would wait for one until they time out.
type Calls struct {
	spare place // of all teams, for admissions beyond their team's own
	teams teams.PerTeam[teamCalls]
}

// teamCalls are one team's.
type teamCalls struct {
	own    place
	census census // has one call more
}

// place has room for as many calls as may run.
type place chan struct{}

// Leave makes room again.
func (p place) Leave() { <-p }

// NewCalls bounds the concurrent calls of a team to most, at least 2.
func NewCalls(most int) *Calls {
	first := func(string) *teamCalls { return &teamCalls{own: make(place, most-1)} }
	return &Calls{spare: make(place, most), teams: teams.PerTeam[teamCalls]{First: first}}
}

// wait waits until the team may make a call. The caller MUST leave the place after the call.
func (c *Calls) wait(ctx context.Context, team string) (place, error) {
	own := c.teams.Get(team).own
	select {
	case own <- struct{}{}:
		return own, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inTurn makes a call once the team may make one.
func (c *Calls) inTurn(ctx context.Context, team string, call func() error) error {
	place, err := c.wait(ctx, team)
	if err != nil {
		return err
	}
	defer place.Leave()
	return call()
}

// must waits for as long as it takes, for a call that must be made.
func (c *Calls) must(team string) place {
	own := c.teams.Get(team).own
	own <- struct{}{}
	return own
}

// toAdmit waits for a place of the team, or for a spare one. A team that begins many requests at once is not delayed while others
// need no more than their own, even if each call takes long.
func (c *Calls) toAdmit(ctx context.Context, team string) (place, error) {
	own := c.teams.Get(team).own
	if own.try() {
		return own, nil
	}
	select {
	case own <- struct{}{}:
		return own, nil
	case c.spare <- struct{}{}:
		return c.spare, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// try takes a place if one is free.
func (p place) try() bool {
	select {
	case p <- struct{}{}:
		return true
	default:
		return false
	}
}

// census asks the store which tasks of a team exist, in one call for all polls that wait. A poll joins the next call and never
// one that has begun: its task may be newer than that.
type census struct {
	mu   sync.Mutex
	next *count // nil: no poll asks
	runs bool
}

// count is one call.
type count struct {
	tasks  map[string]bool // those to ask about
	exist  map[string]bool
	failed error
	done   chan struct{}
}

// ask reports whether a task exists.
func (c *census) ask(ctx context.Context, task string, exist func(tasks []string) (map[string]bool, error)) (bool, error) {
	joined := c.join(task, exist)
	select {
	case <-joined.done:
		return joined.exist[task], joined.failed
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (c *census) join(task string, exist func(tasks []string) (map[string]bool, error)) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = &count{tasks: make(map[string]bool), done: make(chan struct{})}
	}
	c.next.tasks[task] = true
	if !c.runs {
		c.runs = true
		go c.run(exist)
	}
	return c.next
}

// run makes one call after the other until no poll asks.
func (c *census) run(exist func(tasks []string) (map[string]bool, error)) {
	for one := c.take(); one != nil; one = c.take() {
		one.exist, one.failed = exist(slices.Collect(maps.Keys(one.tasks)))
		close(one.done)
	}
}

func (c *census) take() *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.next
	c.next, c.runs = nil, one != nil
	return one
}
