package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/gateway/hooks"
	"sluice/policy/event"
)

// hookCommand is sluice hook.
type hookCommand struct {
	Act    string `arg:"" optional:"" placeholder:"test" help:"test posts a ping to the team's hooks and shows what came back."`
	Team   string `required:"" placeholder:"T" help:"The team's id; @operators for the operators' own hooks."`
	ID     string `name:"id" placeholder:"H" help:"Of one hook alone."`
	Resend string `placeholder:"evt_…" help:"Has an event delivered again to the hooks that it was for. Needs Redis."`
}

// Run posts a ping, or has an event delivered again.
func (c hookCommand) Run(ctx context.Context, p program) error {
	if (c.Act == "test") == (c.Resend != "") || c.Act != "" && c.Act != "test" {
		return badUsage{errors.New("allowed: sluice hook --team T [--id H] test, or sluice hook --team T --resend evt_…")}
	}
	conf, err := loadConfiguration(p.environ)
	if conf.teams == nil {
		return err
	}
	if c.Resend != "" {
		return c.resend(ctx, conf, p)
	}
	file, _ := conf.withDirectory(ctx, p.stderr)
	list, err := hooks.Of(file, c.Team, c.ID)
	if err != nil {
		return badUsage{err}
	}
	return hooks.Test(ctx, p.stdout, conf.poster(), c.Team, list, time.Now())
}

// resend has an event delivered again.
func (c hookCommand) resend(ctx context.Context, conf configuration, p program) error {
	id, err := event.ParseID(c.Resend, c.Team)
	if err != nil {
		return badUsage{fmt.Errorf("--resend: %w", err)}
	}
	outbox, done, err := conf.openOutbox()
	if err != nil {
		return err
	}
	defer done()
	if err := outbox.Again(ctx, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s is delivered again\n", id)
	return err
}

// openOutbox opens the outbox that all replicas share.
func (c configuration) openOutbox() (event.Outbox, func(), error) {
	return nil, nil, errors.New("there is no outbox: " + prefix + "REDIS_URL is not set")
}
