package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Correction is a correction of what a team used in the running day and month.
type Correction struct {
	Unit  teams.Unit
	Delta string // what to add, as it is written; below 0 to give back. Spend is in the currency
	Money unit.Money
}

// Read checks a correction and its reason.
func (c Correction) Read(reason string) (delta int64, err error) {
	refused := func(field, text, allowed string) (int64, error) {
		return 0, &teams.Problem{Code: teams.CodeInvalid, Field: field, Text: text, Allowed: allowed}
	}
	delta, ok := c.Money.Read(c.Unit, c.Delta)
	switch {
	case !slices.Contains(teams.Units[:], c.Unit):
		return refused("unit", "no such unit", "requests, tokens, images or spend")
	case !ok || delta == 0:
		return refused("delta", "not an amount", "a whole number other than 0; for spend up to "+strconv.Itoa(c.Money.Digits())+" decimals")
	case strings.TrimSpace(reason) == "" || utf8.RuneCountInString(reason) > teams.MaxProse:
		return refused("reason", "a correction needs a reason", "1 to 200 characters in one line")
	}
	return delta, nil
}

// Step is the progress of a correction. Each step has an entry of the audit.
type Step string

// The steps. An ordered correction that is neither posted nor refused may have been posted: its process ended or lost its
// connections.
const (
	Ordered Step = ""
	Posted  Step = ".posted"
	Refused Step = ".refused" // by the accounts, because the month would fall below 0
)

// Entry is the entry of a step of the correction of a team. The id is that of the correction in the accounts.
func (c Correction) Entry(id, team string, delta int64, step Step) teams.Entry {
	after := object(map[string]string{"id": id, "unit": string(c.Unit), "delta": c.Money.Written(c.Unit, delta)})
	return teams.Entry{What: "usage.adjust" + string(step), Team: team, After: after}
}

// object writes members as JSON, which cannot fail.
func object(members map[string]string) json.RawMessage {
	text, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return text
}

// Adjust corrects what a team used. It writes one entry first, so that no correction lacks one, and another with the outcome.
func (r *Registry) Adjust(ctx context.Context, a access.Actor, team string, c Correction) (done limit.Adjustment, err error) {
	if err := r.seen(ctx, a, team, a.Changes()); err != nil {
		return done, err
	}
	c.Money = r.File().Money
	delta, err := c.Read(a.Reason)
	if err != nil {
		return done, err
	}
	id := "adjust-" + rand.Text()
	note := func(ctx context.Context, step Step) error {
		return r.kept.note(ctx, r.order(a), c.Entry(id, team, delta, step))
	}
	if err := note(ctx, Ordered); err != nil {
		return done, err
	}
	ctx = context.WithoutCancel(ctx) // a client's disconnect must not leave the outcome open
	done, err = r.Accounts.Adjust(ctx, id, team, c.Unit, delta, a.Reason)
	if err != nil { // the reply may be lost: the same id counts once
		done, err = r.Accounts.Adjust(ctx, id, team, c.Unit, delta, a.Reason)
	}
	switch {
	case err != nil:
		problem := teams.Away("the correction "+id+" may or may not have been posted", err)
		problem.Advice = "look at the team's usage before you try again"
		return done, problem
	case done.Done:
		_ = note(ctx, Posted) // it is posted; without this entry the audit leaves that open
		return done, nil
	}
	if err := note(ctx, Refused); err != nil {
		return done, err
	}
	return done, &teams.Problem{
		Code: teams.CodeConflict, Field: "delta", Text: "the team used less this month than is given back, and nothing was changed",
		Given: c.Money.Written(c.Unit, delta), Allowed: "at least " + c.Money.Written(c.Unit, -done.Month), Advice: "give back less",
	}
}

// seen refuses a team that the person may not see, or may not act on if may is false.
func (r *Registry) seen(ctx context.Context, a access.Actor, id string, may bool) error {
	d, err := r.kept.open(ctx)
	if err != nil {
		return err
	}
	if _, err = r.find(d, a.Person, id); err == nil && !may {
		err = errMayNot
	}
	return err
}

// taskID is the form of the ids that the gateway claims.
var taskID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)

func isTaskID(id string) bool { return taskID.MatchString(id) && id != "." && id != ".." }

// Cancel cancels a task of a team: for an operator, and for the team's members. Its entry is written before; a second one follows if
// the service does not take it.
func (r *Registry) Cancel(ctx context.Context, a access.Actor, team, task string) error {
	if err := r.seen(ctx, a, team, a.Changes() || !a.SeesAll()); err != nil {
		return err
	}
	if r.Tasks == nil || !isTaskID(task) || teams.HasPlainKey([]byte(task)) {
		return errNoTask
	}
	away := func(err error) error { return teams.Away("the task cannot be cancelled at the moment", err) }
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
	order, entry := r.order(a), teams.Entry{What: "task.cancel", Team: team, After: object(map[string]string{"task": task})}
	if err := r.kept.note(ctx, order, entry); err != nil {
		return err
	}
	err = r.Tasks.Cancel(ctx, team, task)
	problem := (*teams.Problem)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &problem):
		return away(err)
	}
	ctx, order.Most, entry.What = context.WithoutCancel(ctx), 0, "task.cancel.refused" // as in Adjust: the outcome is not left open
	return cmp.Or(r.kept.note(ctx, order, entry), err)
}

// NoteEnded audits that a person has ended another's session. The entry names the owner, but nothing that identifies the session.
func (r *Registry) NoteEnded(ctx context.Context, a access.Actor, s *access.Session) error {
	before, err := json.Marshal(struct {
		Who     string    `json:"who"`
		Role    string    `json:"role"`
		Teams   []string  `json:"teams,omitempty"`
		Address string    `json:"address"`
		Began   time.Time `json:"began"`
	}{s.Person.Name, s.Person.Role.String(), s.Person.Teams, s.Client, s.Began.UTC()})
	if err != nil {
		return err
	}
	return r.kept.note(ctx, r.order(a), teams.Entry{What: "session.end", Before: before})
}
