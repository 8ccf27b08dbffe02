package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/console"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// adjustCommand is sluice adjust.
type adjustCommand struct {
	Team    string    `required:"" placeholder:"T" help:"The team's id."`
	Unit    unit.Name `required:"" placeholder:"U" help:"${units}."`
	Delta   string    `required:"" placeholder:"N" help:"What to add; below 0 to give back (--delta=-500). Spend is in the currency."`
	Day     string    `placeholder:"D" help:"The day in UTC that it counts on, such as 2026-11-12, of the 400 that the ledger keeps; the running one if absent."`
	Account string    `placeholder:"A" help:"The account at the service whose use it corrects, by its id in the accounts file; main if absent."`
	Reason  string    `required:"" placeholder:"…" help:"Why, in up to 200 characters; kept for as long as the ledger."`
}

// Run posts a correction to the team's day and month and to the ledger, and writes the new amounts.
func (a adjustCommand) Run(ctx context.Context, p program) error {
	c := console.Correction{Unit: a.Unit, Delta: a.Delta, Day: a.Day, Account: a.Account, Money: unit.Nanos}
	if _, err := a.read(c); err != nil && a.Unit != unit.NameSpend { // which amounts of money are valid depends on Redis
		return err
	}
	s, faulty := settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE")
	switch {
	case faulty != nil:
		return faulty
	case s.RedisURL == "":
		return errors.New(settings.Prefix + "REDIS_URL is not set: only usage that is kept in Redis can be adjusted")
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	money, err := chargedIn(ctx, client)
	if err != nil {
		return err
	}
	c.Money = money
	order, err := a.read(c)
	if err != nil {
		return err
	}
	balances, kept := redisstore.New(client), directoryStore(s, client)
	balances.Money = money
	if err := cmp.Or(a.find(ctx, fileOrNone(s), balances, kept),
		flagged(c.FindAccount(ctx, a.Team, time.Now(), files.AccountIDs(s.AccountsFile), balances.Rows))); err != nil {
		return err
	}
	done, err := c.Post(ctx, balances, &order, func(ctx context.Context, e teams.Entry) error {
		return teams.Note(ctx, kept, commandOrder(a.Reason), e)
	})
	switch problem := (*teams.Problem)(nil); {
	case errors.As(err, &problem) && problem.Cause != nil:
		return fmt.Errorf("%w: %w", err, problem.Cause)
	case err == nil, errors.Is(err, console.ErrOpen):
		_, err = fmt.Fprintln(p.stdout, a.summary(&order, &done, money, err))
	}
	return err
}

// chargedIn returns the currency of the amounts in Redis. Before the first charge only a serving process may choose it.
func chargedIn(ctx context.Context, client *redisclient.Client) (unit.Money, error) {
	money, known, err := redisstore.CountsIn(ctx, client)
	switch {
	case err != nil:
		return money, fmt.Errorf("read currency_digits in Redis: %w", err)
	case !known:
		return money, errors.New("nothing was charged in this Redis yet: there is nothing to correct; adjust after the first request")
	}
	return money, nil
}

// summary describes a posted correction, with a warning if its audit entry is missing.
func (a adjustCommand) summary(order *limit.Correction, done *limit.Adjustment, money unit.Money, open error) string {
	written := func(n int64) string { return money.Written(a.Unit, n) }
	change := func(what string, before, now int64) string {
		if done.Day == done.DayBefore && done.Month == done.MonthBefore { // the first try did it
			return what + " " + written(now)
		}
		return what + " " + written(now) + ", was " + written(before)
	}
	text := fmt.Sprintf("%s: %s of team %s by %s", order.ID, a.Unit, a.Team, written(order.Delta))
	if a.Account != "" {
		text += " on account " + a.Account
	}
	text += ": " + change(cmp.Or(a.Day, "day"), done.DayBefore, done.Day)
	if done.MonthBefore != 0 || done.Month != 0 { // else the day's month is over
		text += "; " + change("month", done.MonthBefore, done.Month)
	}
	if open != nil { // a warning, not an error: the correction must not be posted again
		text += "\nwarning: " + open.Error()
	}
	return text
}

// find refuses a team that is not in the teams file or the directory and never made a request.
func (a adjustCommand) find(ctx context.Context, file *teams.File, balances *redisstore.Store, kept teams.Store) error {
	if file.Team(a.Team) != nil {
		return nil
	}
	if state, err := kept.Read(ctx); err == nil {
		if d, err := state.Open(); err == nil {
			if _, has := d.Team(a.Team); has {
				return nil
			}
		}
	}
	known, err := balances.Knows(ctx, a.Team)
	if err == nil && !known {
		err = fmt.Errorf("team %s is not in %sTEAMS_FILE or the directory and never made a request", a.Team, settings.Prefix)
	}
	return err
}

// read checks the flags.
func (a adjustCommand) read(c console.Correction) (order limit.Correction, err error) {
	if !teams.IsID(a.Team) {
		return order, badUsage{errors.New("--team: allowed: an id as in the teams file, such as search")}
	}
	order, err = c.Read(a.Team, a.Reason, time.Now())
	return order, flagged(err)
}

// flagged turns a [teams.Problem] of the flags into a usage error.
func flagged(err error) error {
	if p := (*teams.Problem)(nil); errors.As(err, &p) && p.Cause == nil {
		return badUsage{fmt.Errorf("--%s: allowed: %s", p.Field, p.Allowed)}
	}
	return err
}
