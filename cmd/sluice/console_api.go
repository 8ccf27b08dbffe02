package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"sluice/gateway"
	"sluice/gateway/console"
	"sluice/gateway/console/figures"
	"sluice/policy/teams"
)

// openRegistry returns the teams as the console shows and changes them.
func (p *process) openRegistry() *console.Registry {
	return console.NewRegistry(console.RegistryDeps{
		Directory: p.directoryStore(p.redis), File: p.inForce.file.Load, Accounts: p.accounts, Tasks: consoleTasks{p.gateway}, Now: time.Now, Random: rand.Reader,
		InForce: p.directoryInForce, PaceReached: p.bounds.add(console.ChangesBound), AuditReached: p.bounds.add(console.AuditBound),
	})
}

// consoleAPI is the console's interface for programs.
func (p *process) consoleAPI(teams *console.Registry, numbers *figures.Figures) http.Handler {
	return console.NewAPI(console.APIDeps{Registry: teams, Ledger: p.accounts, Traffic: numbers, Currency: p.gateway.Currency, Now: time.Now, Log: p.log.Logger()})
}

// consoleTasks cancels tasks for the console.
type consoleTasks struct{ gateway *gateway.Gateway }

// Has implements [console.Tasks].
func (c consoleTasks) Has(ctx context.Context, team, task string) (bool, error) {
	return c.gateway.HasTask(ctx, team, task)
}

// Cancel implements [console.Tasks].
func (c consoleTasks) Cancel(ctx context.Context, team, task string) error {
	return cancelError(c.gateway.CancelTask(ctx, team, task))
}

// cancelError is an error of a cancel as the console tells it. One that is no [teams.Problem] leaves open whether the service took the
// cancel.
func cancelError(err error) error {
	switch {
	case errors.Is(err, gateway.ErrNoTask):
		return &teams.Problem{Code: teams.CodeMissing, Field: "task", Text: "the team has no such task", Advice: "look at the team's tasks"}
	case errors.Is(err, gateway.ErrNoCancel):
		return &teams.Problem{Code: teams.CodeConflict, Field: "task", Text: "the service did not take the cancel", Allowed: "a task that waits", Advice: "look at the task's state"}
	case errors.Is(err, gateway.ErrCancelRate):
		return teams.Away("the service takes no more cancels at the moment, and this one was not sent", err)
	}
	return err
}
