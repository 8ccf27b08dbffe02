package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
)

// Calls bounds the concurrent calls of the stores for one team. Otherwise a team that makes more requests than the stores answer
// would take every connection, and the requests of all others would wait for one until they time out.
type Calls struct {
	spare Place // of all teams, for admissions beyond their team's own
	teams limit.PerTeam[teamCalls]
}

// teamCalls has one team's calls.
type teamCalls struct {
	own    Place
	census census // makes one more call
}

// Place has room for as many calls as may run.
type Place chan struct{}

// Leave makes room again.
func (p Place) Leave() { <-p }

// NewCalls bounds the concurrent calls of a team to most, at least 2.
func NewCalls(most int) *Calls {
	first := func(string) *teamCalls { return &teamCalls{own: make(Place, most-1)} }
	return &Calls{spare: make(Place, most), teams: limit.PerTeam[teamCalls]{First: first}}
}

// wait waits until the team may make a call. The caller MUST leave the place after the call.
func (c *Calls) wait(ctx context.Context, team string) (Place, error) {
	own := c.teams.Get(team).own
	select {
	case own <- struct{}{}:
		return own, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// InTurn makes a call once the team may make one.
func (c *Calls) InTurn(ctx context.Context, team string, call func() error) error {
	place, err := c.wait(ctx, team)
	if err != nil {
		return err
	}
	defer place.Leave()
	return call()
}

// Must waits for as long as it takes, for a call that must be made.
func (c *Calls) Must(team string) Place {
	own := c.teams.Get(team).own
	own <- struct{}{}
	return own
}

// ToAdmit waits for a place of the team, or for a spare one. A team that begins many requests at once is not delayed while the others
// need only their own places, even if each call takes long.
func (c *Calls) ToAdmit(ctx context.Context, team string) (Place, error) {
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
func (p Place) try() bool {
	select {
	case p <- struct{}{}:
		return true
	default:
		return false
	}
}

// Below are the stores whose calls wait until their team may make one. Other calls do not wait: those of background work, of which
// few run at once; those after a query of the service, whose rate is bounded; and those that settle, which MUST NOT wait, because
// they record the ends of tasks.

// Claims makes the calls of claims wait. crowded is called when a poll of a task that is not the team's is refused because the team
// has as many calls under way as it may have.
func (c *Calls) Claims(claims Claims, sight Sight, crowded func()) Claims {
	return &claimsInTurn{claims, sight, c, crowded}
}

// Rate makes the calls of rate wait.
func (c *Calls) Rate(rate Rate) Rate { return &rateInTurn{rate, c} }

type claimsInTurn struct {
	Claims
	sight   Sight
	calls   *Calls
	crowded func()
}

// Get waits for a place, unless this process has the answer. If it does not know the task and the team's calls are all under way,
// Get first makes sure that the task is the team's: it returns [ErrCrowded] if it is not.
func (c *claimsInTurn) Get(ctx context.Context, team, task string) (claim cache.Claim, ok bool, err error) {
	known, serves := c.sight.Here(team, task)
	if serves {
		return c.Claims.Get(ctx, team, task)
	}
	of := c.calls.teams.Get(team)
	if known || !of.own.try() {
		if err := c.mayWait(ctx, of, team, task, known); err != nil {
			return claim, false, err
		}
	}
	defer of.own.Leave()
	return c.Claims.Get(ctx, team, task)
}

// mayWait waits for a place if the task is the team's.
func (c *claimsInTurn) mayWait(ctx context.Context, of *teamCalls, team, task string, known bool) (err error) {
	if !known {
		known, err = of.census.ask(ctx, task, func(tasks []string) (map[string]bool, error) {
			return c.sight.Exist(context.WithoutCancel(ctx), team, tasks)
		})
	}
	switch {
	case err != nil:
		return err
	case !known:
		c.crowded()
		return ErrCrowded
	}
	_, err = c.calls.wait(ctx, team)
	return err
}

func (c *claimsInTurn) Put(ctx context.Context, claim cache.Claim) bool {
	defer c.calls.Must(claim.Team).Leave()
	return c.Claims.Put(ctx, claim)
}

func (c *claimsInTurn) List(ctx context.Context, teams []string, f cache.Filter) (page cache.Page, err error) {
	err = c.calls.InTurn(ctx, teams[0], func() error { // requests list the tasks of their own team
		page, err = c.Claims.List(ctx, teams, f)
		return err
	})
	return page, err
}

func (c *claimsInTurn) Take(ctx context.Context, team, task string) (turn cache.Turn, err error) {
	err = c.calls.InTurn(ctx, team, func() error {
		turn, err = c.Claims.Take(ctx, team, task)
		return err
	})
	return turn, err
}

func (c *claimsInTurn) Release(ctx context.Context, team, task string, after time.Duration) {
	defer c.calls.Must(team).Leave()
	c.Claims.Release(ctx, team, task, after)
}

type rateInTurn struct {
	Rate
	calls *Calls
}

func (r *rateInTurn) Allow(ctx context.Context, w cache.Wish) (allowed bool, err error) {
	err = r.calls.InTurn(ctx, w.Team, func() error {
		allowed, err = r.Rate.Allow(ctx, w)
		return err
	})
	return allowed, err
}

// Sight reports what is known of tasks without reading them.
type Sight interface {
	// Here MUST report, without a call of the store, whether this process knows the team's task, and whether Get answers without
	// a call.
	Here(team, task string) (known, serves bool)
	// Exist MUST report which of the tasks are the team's, as the store knows at a moment after the call began. Tasks that the
	// store may have lost count as the team's: reading one returns what is known of it.
	Exist(ctx context.Context, team string, tasks []string) (map[string]bool, error)
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
