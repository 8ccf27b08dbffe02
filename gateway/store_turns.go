package gateway

import (
	"context"
	"crypto/sha256"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Each of these types is a store whose calls wait until their team may make one. These calls do not wait: those of the background's
// work, of which few run at once; those after a query of the service, whose rate is bounded; and those that settle, which MUST NOT
// wait, because they hear of the end of tasks on their way.

// takeTurns puts them in place of the stores.
func (d *Deps) takeTurns() {
	calls := newStoreCalls(d.Remote.Calls)
	d.Claims = &claimsInTurn{d.Claims, d.Remote, calls}
	d.Queries, d.Cancels = &rateInTurn{d.Queries, calls}, &rateInTurn{d.Cancels, calls}
	d.Outcomes = &outcomesInTurn{d.Outcomes, calls}
	d.Accounts = &accountsInTurn{d.Accounts, calls}
}

type claimsInTurn struct {
	Claims
	remote *Remote
	calls  *storeCalls
}

// Get waits for its turn, unless this process has the answer. If it does not know the task and the team's calls are all under way,
// Get first makes sure that the task is the team's: it returns [tasks.ErrCrowded] if it is not.
func (c *claimsInTurn) Get(ctx context.Context, team, task string) (claim cache.Claim, ok bool, err error) {
	known, serves := c.remote.Sight.Here(team, task)
	if serves {
		return c.Claims.Get(ctx, team, task)
	}
	of := c.calls.of(team)
	if known || !of.try() {
		if err := c.mayWait(ctx, of, team, task, known); err != nil {
			return claim, false, err
		}
	}
	defer of.own.leave()
	return c.Claims.Get(ctx, team, task)
}

// mayWait waits for a place for a task that is the team's.
func (c *claimsInTurn) mayWait(ctx context.Context, of *teamCalls, team, task string, known bool) (err error) {
	if !known {
		known, err = of.census.ask(ctx, task, func(tasks []string) (map[string]bool, error) {
			return c.remote.Sight.Exist(context.WithoutCancel(ctx), team, tasks)
		})
	}
	switch {
	case err != nil:
		return err
	case !known:
		c.remote.Crowded()
		return tasks.ErrCrowded
	}
	_, err = c.calls.wait(ctx, team)
	return err
}

func (c *claimsInTurn) Put(ctx context.Context, claim cache.Claim) bool {
	defer c.calls.waitLong(claim.Team).leave()
	return c.Claims.Put(ctx, claim)
}

func (c *claimsInTurn) List(ctx context.Context, teams []string, f cache.Filter) (page cache.Page, err error) {
	place, err := c.calls.wait(ctx, teams[0]) // requests list the tasks of their own team
	if err != nil {
		return page, err
	}
	defer place.leave()
	return c.Claims.List(ctx, teams, f)
}

func (c *claimsInTurn) Take(ctx context.Context, team, task string) (cache.Turn, error) {
	place, err := c.calls.wait(ctx, team)
	if err != nil {
		return 0, err
	}
	defer place.leave()
	return c.Claims.Take(ctx, team, task)
}

func (c *claimsInTurn) Release(ctx context.Context, team, task string, after time.Duration) {
	defer c.calls.waitLong(team).leave()
	c.Claims.Release(ctx, team, task, after)
}

type rateInTurn struct {
	tasks.Rate
	calls *storeCalls
}

func (r *rateInTurn) Allow(ctx context.Context, team string, spare bool) (bool, error) {
	place, err := r.calls.wait(ctx, team)
	if err != nil {
		return false, err
	}
	defer place.leave()
	return r.Rate.Allow(ctx, team, spare)
}

type outcomesInTurn struct {
	Outcomes
	calls *storeCalls
}

func (o *outcomesInTurn) Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (was cache.Outcome, first bool, err error) {
	place, err := o.calls.wait(ctx, name.Team)
	if err != nil {
		return was, false, err
	}
	defer place.leave()
	return o.Outcomes.Begin(ctx, name, body, token)
}

func (o *outcomesInTurn) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (name cache.IdempotencyName, was cache.Outcome, runs bool, err error) {
	place, err := o.calls.wait(ctx, all.Team)
	if err != nil {
		return name, was, false, err
	}
	defer place.leave()
	return o.Outcomes.Join(ctx, all, body, a)
}

func (o *outcomesInTurn) End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome) {
	defer o.calls.waitLong(name.Team).leave()
	o.Outcomes.End(ctx, name, body, outcome)
}

func (o *outcomesInTurn) Leave(ctx context.Context, name cache.IdempotencyName) {
	defer o.calls.waitLong(name.Team).leave()
	o.Outcomes.Leave(ctx, name)
}

type accountsInTurn struct {
	Accounts
	calls *storeCalls
}

func (a *accountsInTurn) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	place, err := a.calls.waitToAdmit(ctx, h.Team.ID)
	if err != nil {
		return limit.Verdict{}, err
	}
	defer place.leave()
	return a.Accounts.Admit(ctx, h)
}

func (a *accountsInTurn) Look(ctx context.Context, team *teams.Team) (limit.Report, error) {
	place, err := a.calls.wait(ctx, team.ID)
	if err != nil {
		return limit.Report{}, err
	}
	defer place.leave()
	return a.Accounts.Look(ctx, team)
}

func (a *accountsInTurn) LookTags(ctx context.Context, team *teams.Team, at time.Time) ([]limit.Standing, error) {
	place, err := a.calls.wait(ctx, team.ID)
	if err != nil {
		return nil, err
	}
	defer place.leave()
	return a.Accounts.LookTags(ctx, team, at)
}
