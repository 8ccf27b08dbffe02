package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/registry"
)

// TaskQuery chooses tasks of a team. Empty fields choose all.
type TaskQuery struct {
	Team, State, Model string
	Cursor             string // of the page before
	Most               int
}

// Task is one task.
type Task struct {
	ID        string     `json:"id"`
	Model     string     `json:"model"`
	State     string     `json:"state"` // in the service's words
	Submitted *time.Time `json:"submitted"`
	Ended     *time.Time `json:"ended"`
	Used      *Amounts   `json:"used"` // nil: not settled
}

// RequestQuery chooses requests. Empty fields choose all.
type RequestQuery struct {
	Teams          []string // of any of these; nil: of all, and those without a team
	Status         int      // as HTTP has it
	Refusal, Model string
	From           time.Time // that came then or later
	Cursor         string    // of the page before
	Most           int
}

func away(err error) error { return registry.Unavailable("this cannot be read at the moment", err) }

func (a *api) tasks(c *call) error {
	q := TaskQuery{Team: c.parts["id"], State: c.query.Get("state"), Model: c.query.Get("model")}
	if _, err := a.Registry.Show(c.r.Context(), c.who, q.Team); err != nil {
		return err
	}
	return page(c, &q.Cursor, &q.Most, func() ([]Task, string, error) {
		if a.Tasks == nil {
			return nil, "", nil
		}
		return a.Tasks.Tasks(c.r.Context(), q)
	})
}

func (a *api) requests(c *call) error {
	q := RequestQuery{Refusal: c.query.Get("refusal"), Model: c.query.Get("model")}
	var err error
	if q.Teams, err = teamsOf(c.who, c.query.Get("team")); err != nil {
		return err
	}
	if q.Status, err = c.number("status", 100, 599); err != nil {
		return err
	}
	if text := c.query.Get("from"); text != "" {
		if q.From, err = time.Parse(time.RFC3339, text); err != nil {
			return &registry.Error{Field: "from", Text: "not a moment", Allowed: "one such as 2026-11-22T12:00:00Z"}
		}
	}
	return page(c, &q.Cursor, &q.Most, func() ([]json.RawMessage, string, error) {
		if a.Requests == nil || q.Teams != nil && len(q.Teams) == 0 {
			return nil, "", nil
		}
		return a.Requests.Requests(c.r.Context(), q)
	})
}

// teamsOf are the teams whose requests a person gets who asks for one team or, with an empty id, for all.
func teamsOf(p access.Person, id string) ([]string, error) {
	switch {
	case id != "" && !p.Sees(id):
		return nil, &registry.Error{Kind: registry.Missing, Field: "team", Text: "there is no such team", Advice: "look at the list of teams"}
	case id != "":
		return []string{id}, nil
	case p.SeesAll():
		return nil, nil
	}
	return append([]string{}, p.Teams...), nil
}

// page answers with a page that read returns, once the query is read.
func page[T any](c *call, cursor *string, most *int, read func() ([]T, string, error)) (err error) {
	if *cursor, err = c.cursor(); err != nil {
		return err
	}
	if *most, err = c.most(); err != nil {
		return err
	}
	data, next, err := read()
	switch {
	case errors.Is(err, ErrCursor):
		return errCursor
	case err != nil:
		return away(err)
	}
	return c.write(http.StatusOK, list(data, next))
}
