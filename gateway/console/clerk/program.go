package clerk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/api"
	"sluice/gateway/console/figures"
	"sluice/telemetry/recent"
)

// Traffic reads tasks and requests for programs. The person is the one of the context.
type Traffic struct{ Figures *figures.Figures }

// largestTasks is how many tasks a page has at most.
const largestTasks = 100

// Tasks implements [api.Tasks]. A cursor has the page's number and size: pages of another size begin elsewhere.
func (t Traffic) Tasks(ctx context.Context, q api.TaskQuery) (list []api.Task, next string, err error) {
	f := figures.TaskFilter{Team: q.Team, State: q.State, Model: q.Model, Size: min(q.Most, largestTasks)}
	if q.Cursor != "" {
		page := 0
		if n, err := fmt.Sscanf(q.Cursor, "%d-%d", &page, &f.Size); n != 2 || err != nil || page < 1 || f.Size < 1 || f.Size > largestTasks {
			return nil, "", api.ErrCursor
		}
		f.After = fmt.Sprint(page)
	}
	found, err := t.Figures.TaskList(ctx, access.From(ctx), f)
	switch {
	case errors.Is(err, figures.ErrAbsent): // the team is not in force yet, or no more
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	for i := range found.Tasks {
		list = append(list, taskOf(&found.Tasks[i]))
	}
	if found.Next != "" {
		next = fmt.Sprintf("%s-%d", found.Next, f.Size)
	}
	return list, next, nil
}

func taskOf(t *figures.TaskLine) api.Task {
	task := api.Task{ID: t.ID, Model: t.Model, State: t.State, Submitted: orNil(t.Submitted), Ended: orNil(t.Ended)}
	if !t.Open {
		used := api.Amounts(t.Cost)
		task.Used = &used
	}
	return task
}

func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// Requests implements [api.Requests].
func (t Traffic) Requests(ctx context.Context, q api.RequestQuery) (lines []json.RawMessage, next string, err error) {
	f := recent.Filter{Status: q.Status, Refusal: q.Refusal, Model: q.Model, From: q.From, Cursor: q.Cursor, Size: q.Most}
	if len(q.Teams) == 1 {
		f.Teams = q.Teams // else they are all that the person sees
	}
	found, err := t.Figures.RequestList(ctx, access.From(ctx), f)
	switch {
	case errors.Is(err, figures.ErrQuery):
		return nil, "", api.ErrCursor
	case err != nil:
		return nil, "", err
	}
	for i := range found.Requests {
		lines = append(lines, json.RawMessage(found.Requests[i].Line))
	}
	return lines, found.Next, nil
}
