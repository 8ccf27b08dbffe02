package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/hooks"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
)

// hookCommand is sluice hook.
type hookCommand struct {
	Act    string `arg:"" optional:"" placeholder:"test" help:"test posts a ping to the team's hooks and shows what came back."`
	Team   string `placeholder:"T" help:"The team's id; @operators for the operators' own hooks. --resend finds the event's team by itself."`
	ID     string `name:"id" placeholder:"H" help:"Only this hook."`
	Resend string `placeholder:"evt_…" help:"Has an event delivered again to the hooks that it was for. Needs Redis."`
}

// owners returns whose events --resend may name: the team's, or without a team everybody's.
func (c hookCommand) owners(ctx context.Context, p program, conf configuration) []string {
	if c.Team != "" {
		return hooks.Owners(c.Team, conf.Upstream.File)
	}
	owners := hooks.Owners(event.Operators, conf.Upstream.File)
	file, _ := conf.withDirectory(ctx, p.stderr)
	for _, team := range file.List {
		owners = append(owners, team.ID)
	}
	return owners
}

// again redelivers an event in Redis.
func (c hookCommand) again(ctx context.Context, p program, s settings.Settings, owners []string) error {
	if s.RedisURL == "" {
		return hooks.Again(ctx, p.stdout, nil, owners, c.Resend)
	}
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	return hooks.Again(ctx, p.stdout, outbox.New(client, event.Kept(s.EventTTL)), owners, c.Resend)
}

// Run posts a ping, or redelivers an event.
func (c hookCommand) Run(ctx context.Context, p program) error {
	if (c.Act == "test") == (c.Resend != "") || c.Act != "" && c.Act != "test" || c.Resend != "" && c.ID != "" ||
		c.Resend == "" && c.Team == "" {
		return badUsage{errors.New("allowed: sluice hook --team T [--id H] test, or sluice hook [--team T] --resend evt_…")}
	}
	conf, err := loadConfiguration(p.environ)
	if conf.teams == nil || conf.Upstream.File == nil {
		return err
	}
	if c.Resend != "" {
		if err = c.again(ctx, p, conf.Settings, c.owners(ctx, p, conf)); errors.Is(err, event.ErrID) {
			err = badUsage{fmt.Errorf("--resend: %w", err)}
		}
		return err
	}
	file, _ := conf.withDirectory(ctx, p.stderr)
	list, err := hooks.Of(file, c.Team, c.ID)
	if err != nil {
		return badUsage{err}
	}
	return hooks.Test(ctx, p.stdout, conf.poster(), c.Team, list, time.Now())
}
