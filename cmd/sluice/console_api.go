package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"sluice/gateway"
	"sluice/gateway/console/api"
	"sluice/gateway/console/clerk"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/registry"
	"sluice/policy/directory"
)

// audited is a directory whose audit can be read from its end.
type audited interface {
	directory.Store
	registry.Trail
}

// openRegistry returns the teams as the console shows and changes them.
func (p *process) openRegistry(kept audited) *registry.Registry {
	return registry.New(registry.Deps{
		Directory: kept, Trail: kept, File: p.inForce.file.Load, Accounts: p.accounts, Tasks: consoleTasks{p.gateway}, Now: time.Now, Random: rand.Reader,
		InForce: p.directoryInForce, PaceReached: p.bounds.add(registry.PaceBound), AuditReached: p.bounds.add(registry.AuditBound),
	})
}

// consoleAPI is the console's interface for programs.
func (p *process) consoleAPI(teams *registry.Registry, numbers *figures.Figures) http.Handler {
	traffic := clerk.Traffic{Figures: numbers}
	return api.New(api.Deps{Registry: teams, Ledger: p.accounts, Tasks: traffic, Requests: traffic, Currency: p.gateway.Currency, Now: time.Now, Log: p.log.Logger()})
}

// consoleTasks cancels tasks for the console.
type consoleTasks struct{ gateway *gateway.Gateway }

// Has implements [registry.Tasks].
func (c consoleTasks) Has(ctx context.Context, team, task string) (bool, error) {
	return c.gateway.HasTask(ctx, team, task)
}

// Cancel implements [registry.Tasks].
func (c consoleTasks) Cancel(ctx context.Context, team, task string) error {
	return cancelError(c.gateway.CancelTask(ctx, team, task))
}

// cancelError is an error of a cancel as the console tells it. One that is no [registry.Error] leaves open whether the service took the
// cancel.
func cancelError(err error) error {
	switch {
	case errors.Is(err, gateway.ErrNoTask):
		return &registry.Error{Kind: registry.Missing, Field: "task", Text: "the team has no such task", Advice: "look at the team's tasks"}
	case errors.Is(err, gateway.ErrNoCancel):
		return &registry.Error{Kind: registry.Conflict, Field: "task", Text: "the service did not take the cancel", Allowed: "a task that waits", Advice: "look at the task's state"}
	case errors.Is(err, gateway.ErrCancelRate):
		return registry.Unavailable("the service takes no more cancels at the moment, and this one was not sent", err)
	}
	return err
}
