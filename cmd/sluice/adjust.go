package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"sluice/gateway/console"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// adjustCommand is sluice adjust.
type adjustCommand struct {
	Team   string     `required:"" placeholder:"T" help:"The team's id."`
	Unit   teams.Unit `required:"" placeholder:"U" help:"requests, tokens, images or spend."`
	Delta  string     `required:"" placeholder:"N" help:"What to add; below 0 to give back (--delta=-500). Spend is in the currency."`
	Reason string     `required:"" placeholder:"…" help:"Why, in up to 200 characters; kept for as long as the ledger."`
}

// Run posts a correction to the team's current day and month and to the ledger, and writes the new amounts.
func (a adjustCommand) Run(ctx context.Context, p program) error {
	delta, err := a.read()
	if err != nil {
		return badUsage{err}
	}
	s, err := settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE")
	if err != nil {
		return err
	}
	if s.RedisURL == "" {
		return errors.New(prefix + "REDIS_URL is not set: only usage that is kept in Redis can be adjusted")
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	accounts := redisstore.New(client)
	kept := s.directoryStore(client)
	if err := a.find(ctx, s, accounts, kept); err != nil {
		return err
	}
	result, err := a.postWithEntry(ctx, accounts, kept, delta)
	if err == nil {
		_, err = fmt.Fprintln(p.stdout, result)
	}
	return err
}

// errTooMuch is the error of a correction that would make a month negative.
type errTooMuch struct{ error }

// postWithEntry posts the correction after its entry of the audit. Another entry has the outcome.
func (a adjustCommand) postWithEntry(ctx context.Context, accounts *redisstore.Store, kept teams.Store, delta int64) (string, error) {
	id, order := "adjust-"+rand.Text(), commandOrder(a.Reason)
	note := func(step console.Step) error {
		return teams.Note(ctx, kept, order, console.Adjusted(id, a.Team, a.Unit, delta, step))
	}
	if err := note(console.Ordered); err != nil {
		return "", err
	}
	result, err := a.post(ctx, accounts, id, delta)
	tooMuch := errTooMuch{}
	switch {
	case errors.As(err, &tooMuch):
		return "", errors.Join(err, note(console.Refused))
	case err != nil:
		return "", err
	}
	if err := note(console.Posted); err != nil { // no failure: it must not be posted again
		result += "\nwarning: the audit leaves the outcome open: " + err.Error()
	}
	return result, nil
}

// post posts the correction and describes the result. If the reply is lost it is retried with the same id, so that it counts
// once. Running the command again posts another correction.
func (a adjustCommand) post(ctx context.Context, accounts *redisstore.Store, id string, delta int64) (string, error) {
	done, err := accounts.Adjust(ctx, id, a.Team, a.Unit, delta, a.Reason)
	if err != nil {
		done, err = accounts.Adjust(ctx, id, a.Team, a.Unit, delta, a.Reason)
	}
	if err != nil {
		return "", fmt.Errorf("adjust in Redis: %s may or may not have been posted; look for model %s in sluice usage before trying again: %w", id, limit.AdjustedModel, err)
	}
	written := func(n int64) string { return limit.Written(a.Unit, n) }
	if !done.Done {
		return "", errTooMuch{fmt.Errorf("nothing was changed: team %s used %s %s this month, less than the %s to give back", a.Team, written(done.Month), a.Unit, written(-delta))}
	}
	what := fmt.Sprintf("%s: %s of team %s by %s", id, a.Unit, a.Team, written(delta))
	if done.Month == done.MonthBefore { // the first try did it
		return fmt.Sprintf("%s: day %s; month %s", what, written(done.Day), written(done.Month)), nil
	}
	return fmt.Sprintf("%s: day %s, was %s; month %s, was %s", what, written(done.Day), written(done.DayBefore), written(done.Month), written(done.MonthBefore)), nil
}

// find refuses a team that neither the teams file nor the directory has, and that never made a request.
func (a adjustCommand) find(ctx context.Context, s settings, accounts *redisstore.Store, kept teams.Store) error {
	if teams, bad := judgeTeams(contentOf(s.TeamsFile), nil, nil); bad == nil && teams.Team(a.Team) != nil {
		return nil
	}
	if state, err := kept.Read(ctx); err == nil {
		if d, err := state.Open(); err == nil {
			if _, has := d.Team(a.Team); has {
				return nil
			}
		}
	}
	known, err := accounts.Knows(ctx, a.Team)
	if err == nil && !known {
		err = fmt.Errorf("team %s is not in %sTEAMS_FILE or the directory and never made a request", a.Team, prefix)
	}
	return err
}

// read checks the flags.
func (a adjustCommand) read() (delta int64, err error) {
	if file, bad := teams.Parse([]byte("teams:\n  - id: " + a.Team + "\n")); bad != nil || file.Team(a.Team) == nil {
		return 0, errors.New("--team: allowed: an id as in the teams file, such as search")
	}
	delta, err = console.Correction{Unit: a.Unit, Delta: a.Delta}.Read(a.Reason)
	if p := (*teams.Problem)(nil); errors.As(err, &p) {
		return 0, fmt.Errorf("--%s: allowed: %s", p.Field, p.Allowed)
	}
	return delta, err
}
