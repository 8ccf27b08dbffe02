package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/remote"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// raiseCommand is sluice raise. It has a flag for each unit.
type raiseCommand struct {
	Team     string       `required:"" placeholder:"T" help:"The team's id, of the teams file or the directory."`
	Requests string       `placeholder:"N" xor:"unit" help:"How many requests more. Of this and the next three one is required."`
	Tokens   string       `placeholder:"N" xor:"unit" help:"How many tokens more."`
	Images   string       `placeholder:"N" xor:"unit" help:"How many images more."`
	Spend    string       `placeholder:"N" xor:"unit" help:"How much more spend, in the currency."`
	For      teams.Period `required:"" placeholder:"day|month" help:"Which quota of the team: that of the day or of the month."`
	Until    *time.Time   `placeholder:"TIME" help:"When it ends, such as 2026-11-23T18:00:00Z; with the day or month if absent."`
	Reason   string       `required:"" placeholder:"…" help:"Why, in up to 200 characters; kept in the audit."`
}

// Run raises a quota, and writes the raise.
func (c raiseCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	order := console.RaiseOrder{Period: c.For, Until: c.Until, Reason: c.Reason}
	for i, amount := range [len(unit.Names)]string{c.Requests, c.Tokens, c.Images, c.Spend} {
		if amount == "" {
			continue
		}
		if order.Unit, order.Amount = unit.Names[i], []byte(amount); !order.Amount.IsValid() || order.Amount.Kind() != '0' {
			return badUsage{fmt.Errorf("--%s: allowed: a number above 0", order.Unit)}
		}
	}
	if order.Unit == "" {
		return badUsage{errors.New("missing flags: --requests=N or --tokens=N or --images=N or --spend=N")}
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	answer, err := client.Call(ctx, http.MethodPost, remote.TeamPath(c.Team, "raises"), body, "")
	if err != nil {
		return err
	}
	var made teams.Raise
	if err := answer.Into(&made); err != nil {
		return err
	}
	amount, until := made.Money.Written(made.Unit, made.Amount), made.Until.Format(time.RFC3339)
	_, err = fmt.Fprintf(p.stdout, "raised: %s a %s of team %s by %s until %s\n", made.Unit, made.Period, admin.Printable(c.Team), amount,
		until)
	return err
}
