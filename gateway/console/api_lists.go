package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy/teams"
)

// Task is one task.
type Task struct {
	ID        string     `json:"id"`
	Model     string     `json:"model"`
	State     string     `json:"state"` // as the service names it
	Submitted *time.Time `json:"submitted"`
	Ended     *time.Time `json:"ended"`
	Used      *Amounts   `json:"used"` // nil: not settled
}

// unread returns the problem of data that cannot be read.
func unread(err error) error {
	if errors.Is(err, figures.ErrQuery) {
		return errCursor
	}
	return teams.Away("this cannot be read at the moment", err)
}

// mostTasks bounds the tasks of a page.
const mostTasks = 100

// tasks lists tasks of a team. Its cursor is figures' cursor and the page's size, because page numbers depend on the size.
func (a *api) tasks(c *call) error {
	f := figures.TaskFilter{Team: c.parts["id"], State: c.query.Get("state"), Model: c.query.Get("model")}
	if _, err := a.Registry.Show(c.r.Context(), c.who, f.Team); err != nil {
		return err
	}
	cursor, most, err := c.page()
	if err != nil {
		return err
	}
	if f.Size = min(most, mostTasks); cursor != "" {
		page := 0
		if n, err := fmt.Sscanf(cursor, "%d-%d", &page, &f.Size); n != 2 || err != nil || page < 1 || f.Size < 1 || f.Size > mostTasks {
			return errCursor
		}
		f.After = strconv.Itoa(page)
	}
	found, err := a.Traffic.TaskList(c.r.Context(), c.who, f)
	if err != nil && !errors.Is(err, figures.ErrAbsent) { // absent: the team is not in force yet, or no longer
		return unread(err)
	}
	all := make([]Task, len(found.Tasks))
	for i := range found.Tasks {
		t := &found.Tasks[i]
		all[i] = Task{t.ID, t.Model, t.State, orNil(t.Submitted), orNil(t.Ended), nil}
		if used := (Amounts{t.Cost, a.Currency().Money}); !t.Open {
			all[i].Used = &used
		}
	}
	if found.Next != "" {
		found.Next = fmt.Sprintf("%s-%d", found.Next, f.Size)
	}
	return c.write(http.StatusOK, list(all, found.Next))
}

func (a *api) cancel(c *call) error {
	return c.done(a.Registry.Cancel(c.r.Context(), c.actor(), c.parts["id"], c.parts["task"]))
}

func (a *api) audit(c *call) error {
	cursor, most, err := c.page()
	if err != nil {
		return err
	}
	var before int64
	if cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return errCursor
		}
	}
	entries, more, err := a.Registry.Audit(c.r.Context(), c.who, AuditFilter{Team: c.query.Get("team"), Most: most}, before)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = strconv.FormatInt(entries[len(entries)-1].Seq, 10)
	}
	return c.write(http.StatusOK, list(entries, next))
}

// accounts lists the accounts at the service.
func accounts(a *api, c *call) error {
	if !c.who.SeesAll() {
		return errNotAll
	}
	found, err := a.Traffic.AccountList(c.r.Context(), c.who)
	if err != nil {
		return unread(err)
	}
	all := make([]Account, len(found.Accounts))
	for i := range found.Accounts {
		all[i] = accountOf(&found.Accounts[i], found.Unread == nil, a.Currency().Money)
	}
	return c.write(http.StatusOK, list(all, ""))
}
