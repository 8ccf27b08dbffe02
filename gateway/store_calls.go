package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Remote says how to use stores outside this process, such as Redis.
type Remote struct {
	// Calls is how many calls of the stores may run at once for one team, at least 2. Others wait. Admissions of all teams
	// together may be as many more.
	Calls int
	Sight Sight // of Deps.Claims
	// Crowded is called when a poll of a task that is not the team's is refused because the team's calls are all under way.
	Crowded func()
}

// Sight tells what is known of tasks without reading them.
type Sight interface {
	// Here MUST tell, without a call of the store, whether this process knows the team's task, and whether Get answers without a
	// call.
	Here(team, task string) (known, serves bool)
	// Exist MUST tell which of the tasks are the team's, as the store knows at a moment after the call began. Those that the store
	// may have lost count as the team's: whoever reads one learns what is known of it.
	Exist(ctx context.Context, team string, tasks []string) (map[string]bool, error)
}

// storeCalls bounds the calls of the stores that run at once for one team. Otherwise a team that makes more requests than the
// stores answer would take every connection, and the requests of all others would wait for one until their time is over.
type storeCalls struct {
	spare place // of all teams, for admissions beyond their team's own
	perTeam[teamCalls]
}

// teamCalls are one team's.
type teamCalls struct {
	own    place
	census census // has one call more
}

// place has room for as many calls as may run.
type place chan struct{}

func (p place) leave() { <-p }

func newStoreCalls(most int) *storeCalls {
	return &storeCalls{spare: make(place, most), perTeam: perTeam[teamCalls]{fresh: func() *teamCalls { return &teamCalls{own: make(place, most-1)} }}}
}

// wait waits until the team may make a call. The caller MUST leave the place after the call.
func (c *storeCalls) wait(ctx context.Context, team string) (place, error) {
	own := c.of(team).own
	select {
	case own <- struct{}{}:
		return own, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waitLong waits for as long as it takes, for a call that must be made.
func (c *storeCalls) waitLong(team string) place {
	own := c.of(team).own
	own <- struct{}{}
	return own
}

// waitToAdmit waits for a place of the team, or for a spare one. A team that begins many requests at once is not held up while
// others need no more than their own, even if each call takes long.
func (c *storeCalls) waitToAdmit(ctx context.Context, team string) (place, error) {
	own := c.of(team).own
	select {
	case own <- struct{}{}:
		return own, nil
	default:
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
func (t *teamCalls) try() bool {
	select {
	case t.own <- struct{}{}:
		return true
	default:
		return false
	}
}

// census asks the store which tasks of a team exist, about all that polls want to know at a moment in one call. A poll joins the next
// call and never one that has begun: its task may be younger than that.
type census struct {
	mu   sync.Mutex
	next *count // nil: nobody asks
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

// run makes one call after the other until nobody asks.
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
