package stores

import (
	"context"
	"crypto/sha256"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// The stores whose calls wait until their team may make one are here. These calls do not wait: those of the background's work,
// of which few run at once; those after a query of the service, whose rate is bounded; and those that settle, which MUST NOT
// wait, because they record the ends of tasks.

// Outcomes has the calls of o wait.
func (c *Calls) Outcomes(o Outcomes) Outcomes { return &outcomesInTurn{o, c} }

// Balances has the calls of a wait. Settle, SettleLater, Extend and Move do not: their request is admitted already.
func (c *Calls) Balances(a Balances) Balances { return &balancesInTurn{a, c} }

type outcomesInTurn struct {
	Outcomes
	calls *Calls
}

func (o *outcomesInTurn) Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (was cache.Outcome,
	first bool, err error,
) {
	err = o.calls.inTurn(ctx, name.Team, func() error {
		was, first, err = o.Outcomes.Begin(ctx, name, body, token)
		return err
	})
	return was, first, err
}

func (o *outcomesInTurn) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte,
	a cache.Attempt,
) (name cache.IdempotencyName, was cache.Outcome, runs bool, err error) {
	err = o.calls.inTurn(ctx, all.Team, func() error {
		name, was, runs, err = o.Outcomes.Join(ctx, all, body, a)
		return err
	})
	return name, was, runs, err
}

func (o *outcomesInTurn) End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome) {
	defer o.calls.must(name.Team).Leave()
	o.Outcomes.End(ctx, name, body, outcome)
}

func (o *outcomesInTurn) Leave(ctx context.Context, name cache.IdempotencyName) {
	defer o.calls.must(name.Team).Leave()
	o.Outcomes.Leave(ctx, name)
}

type balancesInTurn struct {
	Balances
	calls *Calls
}

func (b *balancesInTurn) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	place, err := b.calls.toAdmit(ctx, h.Team.ID)
	if err != nil {
		return limit.Verdict{}, err
	}
	defer place.Leave()
	return b.Balances.Admit(ctx, h)
}

func (b *balancesInTurn) Look(ctx context.Context, team *teams.Team) (report limit.Report, err error) {
	err = b.calls.inTurn(ctx, team.ID, func() error {
		report, err = b.Balances.Look(ctx, team)
		return err
	})
	return report, err
}

func (b *balancesInTurn) LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) (list []limit.Standing,
	err error,
) {
	err = b.calls.inTurn(ctx, team.ID, func() error {
		list, err = b.Balances.LookInside(ctx, team, k, at)
		return err
	})
	return list, err
}

// Claims has the calls of claims wait. crowded is called when a poll of a task that is not the team's is refused because the team's
// calls are all under way.
func (c *Calls) Claims(claims tasks.Claims, sight Sight, crowded func()) tasks.Claims {
	return &claimsInTurn{claims, sight, c, crowded}
}

// Rate has the calls of rate wait.
func (c *Calls) Rate(rate tasks.Rate) tasks.Rate { return &rateInTurn{rate, c} }

type claimsInTurn struct {
	tasks.Claims
	sight   Sight
	calls   *Calls
	crowded func()
}

// Get waits for its turn, unless this process has the answer. If it does not know the task and the team's calls are all under way,
// Get first makes sure that the task is the team's: it returns [tasks.ErrCrowded] if it is not.
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

// mayWait waits for a place for a task that is the team's.
func (c *claimsInTurn) mayWait(ctx context.Context, of *teamCalls, team, task string, known bool) (err error) {
	if !known {
		known, err = of.census.ask(ctx, task, func(ids []string) (map[string]bool, error) {
			return c.sight.Exist(context.WithoutCancel(ctx), team, ids)
		})
	}
	switch {
	case err != nil:
		return err
	case !known:
		c.crowded()
		return tasks.ErrCrowded
	}
	_, err = c.calls.wait(ctx, team)
	return err
}

func (c *claimsInTurn) Put(ctx context.Context, claim cache.Claim) bool {
	defer c.calls.must(claim.Team).Leave()
	return c.Claims.Put(ctx, claim)
}

func (c *claimsInTurn) List(ctx context.Context, teams []string, f cache.Filter) (page cache.Page, err error) {
	err = c.calls.inTurn(ctx, teams[0], func() error { // requests list the tasks of their own team
		page, err = c.Claims.List(ctx, teams, f)
		return err
	})
	return page, err
}

func (c *claimsInTurn) Take(ctx context.Context, team, task string) (turn cache.Turn, err error) {
	err = c.calls.inTurn(ctx, team, func() error {
		turn, err = c.Claims.Take(ctx, team, task)
		return err
	})
	return turn, err
}

func (c *claimsInTurn) Release(ctx context.Context, team, task string, after time.Duration) {
	defer c.calls.must(team).Leave()
	c.Claims.Release(ctx, team, task, after)
}

type rateInTurn struct {
	tasks.Rate
	calls *Calls
}

func (r *rateInTurn) Allow(ctx context.Context, w cache.Wish) (allowed bool, err error) {
	err = r.calls.inTurn(ctx, w.Team, func() error {
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
	// Exist MUST report which of the tasks are the team's, as the store knows at a moment after the call began. Those that the
	// store may have lost count as the team's: reading one returns what is known of it.
	Exist(ctx context.Context, team string, tasks []string) (map[string]bool, error)
}
