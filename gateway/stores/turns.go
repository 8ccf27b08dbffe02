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

// OutcomesInTurn makes the calls of o wait until their team may make one.
func OutcomesInTurn(o Outcomes, calls *tasks.Calls) Outcomes { return &outcomesInTurn{o, calls} }

// AccountsInTurn does the same for a. Settle, SettleLater, Extend and Move do not wait: their request is admitted already.
func AccountsInTurn(a Accounts, calls *tasks.Calls) Accounts { return &accountsInTurn{a, calls} }

type outcomesInTurn struct {
	Outcomes
	calls *tasks.Calls
}

func (o *outcomesInTurn) Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (was cache.Outcome, first bool, err error) {
	err = o.calls.InTurn(ctx, name.Team, func() error {
		was, first, err = o.Outcomes.Begin(ctx, name, body, token)
		return err
	})
	return was, first, err
}

func (o *outcomesInTurn) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (name cache.IdempotencyName, was cache.Outcome, runs bool, err error) {
	err = o.calls.InTurn(ctx, all.Team, func() error {
		name, was, runs, err = o.Outcomes.Join(ctx, all, body, a)
		return err
	})
	return name, was, runs, err
}

func (o *outcomesInTurn) End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome) {
	defer o.calls.Must(name.Team).Leave()
	o.Outcomes.End(ctx, name, body, outcome)
}

func (o *outcomesInTurn) Leave(ctx context.Context, name cache.IdempotencyName) {
	defer o.calls.Must(name.Team).Leave()
	o.Outcomes.Leave(ctx, name)
}

type accountsInTurn struct {
	Accounts
	calls *tasks.Calls
}

func (a *accountsInTurn) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	place, err := a.calls.ToAdmit(ctx, h.Team.ID)
	if err != nil {
		return limit.Verdict{}, err
	}
	defer place.Leave()
	return a.Accounts.Admit(ctx, h)
}

func (a *accountsInTurn) Look(ctx context.Context, team *teams.Team) (report limit.Report, err error) {
	err = a.calls.InTurn(ctx, team.ID, func() error {
		report, err = a.Accounts.Look(ctx, team)
		return err
	})
	return report, err
}

func (a *accountsInTurn) LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) (list []limit.Standing, err error) {
	err = a.calls.InTurn(ctx, team.ID, func() error {
		list, err = a.Accounts.LookInside(ctx, team, k, at)
		return err
	})
	return list, err
}
