package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/policy/directory"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Correction is a correction of what a team used in the running day and month.
type Correction struct {
	Unit  teams.Unit
	Delta string // what to add, as it is written; below 0 to give back. Spend is in the currency
}

// read checks a correction and its reason.
func (c Correction) read(reason string) (delta int64, err error) {
	if !slices.Contains(teams.Units[:], c.Unit) {
		return 0, &Error{Field: "unit", Text: "no such unit", Allowed: "requests, tokens, images or spend"}
	}
	delta, ok := limit.ReadAmount(c.Unit, c.Delta)
	if !ok || delta == 0 {
		return 0, &Error{Field: "delta", Text: "not an amount", Allowed: "a whole number other than 0; for spend up to nine decimals"}
	}
	if text := strings.TrimSpace(reason); text == "" || utf8.RuneCountInString(reason) > teams.MaxProse {
		return 0, &Error{Field: "reason", Text: "a correction needs a reason", Allowed: "1 to 200 characters in one line"}
	}
	return delta, nil
}

// Step is how far a correction is. Each step has an entry of the audit.
type Step string

// The steps. A correction that is ordered and neither posted nor refused may have been posted: its process ended meanwhile, or lost
// its connections.
const (
	Ordered Step = ""
	Posted  Step = ".posted"
	Refused Step = ".refused" // by the accounts, because the month would fall below 0
)

// Adjusted is the entry of a step of a correction. The id is that of the correction in the accounts.
func Adjusted(id, team string, unit teams.Unit, delta int64, step Step) directory.Entry {
	after, err := json.Marshal(map[string]string{"id": id, "unit": string(unit), "delta": limit.Written(unit, delta)})
	if err != nil {
		after = nil
	}
	return directory.Entry{What: "usage.adjust" + string(step), Team: team, After: after}
}

// Adjust corrects what a team used. An entry is written before, so that there is no correction without one, and another one with the
// outcome.
func (r *Registry) Adjust(ctx context.Context, a Actor, team string, c Correction) (done limit.Adjustment, err error) {
	if _, err := r.seen(ctx, a, team, a.Changes()); err != nil {
		return done, err
	}
	delta, err := c.read(a.Reason)
	if err != nil {
		return done, err
	}
	id := "adjust-" + rand.Text()
	note := func(ctx context.Context, step Step) error {
		return r.note(ctx, r.order(a), Adjusted(id, team, c.Unit, delta, step))
	}
	if err := note(ctx, Ordered); err != nil {
		return done, err
	}
	ctx = context.WithoutCancel(ctx) // a client that leaves must not leave the outcome open
	done, err = r.Accounts.Adjust(ctx, id, team, c.Unit, delta, a.Reason)
	if err != nil { // the reply may be lost: the same id counts once
		done, err = r.Accounts.Adjust(ctx, id, team, c.Unit, delta, a.Reason)
	}
	switch {
	case err != nil:
		return done, &Error{Kind: Away, Text: "the correction " + id + " may or may not have been posted", Advice: "look at the team's usage before you try again", cause: err}
	case done.Done:
		_ = note(ctx, Posted) // it is posted; without this entry the audit leaves that open
		return done, nil
	}
	if err := note(ctx, Refused); err != nil {
		return done, err
	}
	return done, &Error{
		Kind: Conflict, Field: "delta", Text: "the team used less this month than is given back, and nothing was changed", Given: limit.Written(c.Unit, delta),
		Allowed: "at least " + limit.Written(c.Unit, -done.Month), Advice: "give back less",
	}
}

// seen is a team of either owner that the person may see, and act on if may is true.
func (r *Registry) seen(ctx context.Context, a Actor, id string, may bool) (team directory.Team, err error) {
	d, err := r.open(ctx)
	if err != nil {
		return team, err
	}
	if team, _, err = r.find(d, a.Person, id); err == nil && !may {
		err = errMayNot
	}
	return team, err
}

// taskID is the form of the ids that the gateway claims.
var taskID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)

func isTaskID(id string) bool { return taskID.MatchString(id) && id != "." && id != ".." }

// Cancel cancels a task of a team: for an operator, and for the team's members. Its entry is written before; a second one follows if
// the service does not take it.
func (r *Registry) Cancel(ctx context.Context, a Actor, team, task string) error {
	if _, err := r.seen(ctx, a, team, a.Changes() || !a.SeesAll()); err != nil {
		return err
	}
	if r.Tasks == nil || !isTaskID(task) || teams.HasPlainKey([]byte(task)) {
		return errNoTask
	}
	away := func(err error) error { return Unavailable("the task cannot be cancelled at the moment", err) }
	has, err := r.Tasks.Has(ctx, team, task)
	switch {
	case err != nil:
		return away(err)
	case !has:
		return errNoTask
	}
	if err := r.paced(a, team, costCancel); err != nil {
		return err
	}
	order := r.order(a)
	if err := r.noteCancel(ctx, order, team, task, "task.cancel"); err != nil {
		return err
	}
	err = r.Tasks.Cancel(ctx, team, task)
	mine := (*Error)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &mine):
		return away(err)
	}
	ctx, order.Most = context.WithoutCancel(ctx), 0 // as in Adjust: the outcome is not left open
	return cmp.Or(r.noteCancel(ctx, order, team, task, "task.cancel.refused"), err)
}

// noteCancel writes that a cancel is ordered, or that it was refused then.
func (r *Registry) noteCancel(ctx context.Context, order directory.Order, team, task, what string) error {
	after, err := json.Marshal(map[string]string{"task": task})
	if err != nil {
		return err
	}
	return r.note(ctx, order, directory.Entry{What: what, Team: team, After: after})
}
