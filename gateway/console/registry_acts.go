package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// Adjust corrects what a team used: see [Correction.Post]. A form that is sent again gets [ErrAgain].
func (r *Registry) Adjust(ctx context.Context, a access.Actor, team string, c Correction) (done limit.Adjustment, err error) {
	if err := r.seen(ctx, a, team, a.Changes()); err != nil {
		return done, err
	}
	c.Money = r.File().Money
	order, err := c.Read(team, a.Reason, r.Now())
	if err != nil {
		return done, err
	}
	if c.Once != "" {
		r.corrected.Lock()
		defer r.corrected.Unlock()
		if done, again := r.corrected.by[order.ID]; again {
			return done, ErrAgain
		}
	}
	if err := c.FindAccount(ctx, team, r.Now(), r.accountIDs(), r.Balances.Rows); err != nil {
		return done, err
	}
	done, err = c.Post(ctx, r.Balances, &order, func(ctx context.Context, e teams.Entry) error { return r.kept.note(ctx, orderOf(r, a), e) })
	if errors.Is(err, ErrOpen) {
		err = nil // it was posted; only the audit leaves that open
	}
	if c.Once != "" && (err == nil || errors.Is(err, ErrAgain)) {
		r.corrected.keep(order.ID, done)
	}
	return done, err
}

// corrections are the results of the last corrections that forms of this process ordered, by id.
type corrections struct {
	sync.Mutex
	by map[string]limit.Adjustment
}

// keep keeps a result, and bounds how many there are. The lock is held.
func (c *corrections) keep(id string, done limit.Adjustment) {
	if c.by == nil || len(c.by) >= 1000 {
		c.by = map[string]limit.Adjustment{}
	}
	c.by[id] = done
}

// accountIDs returns the ids of the accounts at the service, as far as they are known.
func (r *Registry) accountIDs() (ids []string) {
	if r.Standings == nil {
		return nil
	}
	for _, s := range r.Standings() {
		ids = append(ids, s.ID)
	}
	return ids
}

// seen refuses a team that the person may not see, or, if may is false, not act on.
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

// taskID matches the ids that the gateway claims.
var taskID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)

func isTaskID(id string) bool { return taskID.MatchString(id) && id != "." && id != ".." }

// Cancel cancels a task of a team, for an operator or the team's members. It writes an entry of the audit first, and a second one if the
// service refuses.
func (r *Registry) Cancel(ctx context.Context, a access.Actor, team, task string) error {
	if err := r.seen(ctx, a, team, a.Changes() || !a.SeesAll()); err != nil {
		return err
	}
	if r.Tasks == nil || !isTaskID(task) || strictyaml.HasPlainKey([]byte(task)) {
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
	order, entry := orderOf(r, a), teams.Entry{What: "task.cancel", Team: team, After: object(map[string]string{"task": task})}
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
	ctx, order.Most, entry.What = context.WithoutCancel(ctx), 0, "task.cancel.refused" // as in Post: the audit must not leave the outcome open
	return cmp.Or(r.kept.note(ctx, order, entry), err)
}

// NoteEnded audits that a person has ended another's session. The entry names the owner of the session, but does not identify it.
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
	return r.kept.note(ctx, orderOf(r, a), teams.Entry{What: "session.end", Before: before})
}
