package figures

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
)

// TaskFilter selects tasks. Empty fields select all.
type TaskFilter struct {
	Team, Model, State string        // State as the service writes it, such as RUNNING, or OpenTasks
	After              string        // [TaskList.Next] of the previous page
	Age                time.Duration // the least time since they were made; 0: any
	Size               int           // tasks on a page, at most 100; 0: 100
}

// OpenTasks in place of a state selects the tasks that have not ended.
const OpenTasks = "open"

// TaskList is a page of tasks, newest first.
type TaskList struct {
	Tasks []TaskLine
	Next  string // the cursor of the next page; empty: this is the last one
}

// TaskLine is a task as a row of the list.
type TaskLine struct {
	Team, ID, Model          string
	State                    string // in the service's words: PENDING, RUNNING, SUCCEEDED
	Open                     bool
	Created                  time.Time
	Submitted, Begun, Ended  time.Time // by the service's clock; zero: not known
	PollsServed, QueriesSent int64
	Cost                     limit.Amounts // held while the task is open, then settled
}

// Task is one task.
type Task struct {
	TaskLine
	Key, Request, TraceID string // of its creation; TraceID is empty if no trace was recorded
	Held                  limit.Amounts
	Estimated             bool     // the service did not count the pictures: Cost is the hold
	Pictures              []string // addresses at the service; they expire
	Message               string   // the service's error; empty: none
}

const (
	mostTasks = 100
	mostPages = 1 << 20 // a larger page number comes from an invented cursor
)

// TaskList returns a page of the tasks that the service still keeps, of one team or of all that the person sees. A page of all teams may
// be short without being the last.
func (f *Figures) TaskList(ctx context.Context, p access.Person, q TaskFilter) (list TaskList, err error) {
	size := q.Size
	if size < 1 {
		size = mostTasks
	}
	c := cache.Filter{Model: q.Model, Status: cache.Status(q.State), Page: 1, Size: min(size, mostTasks)}
	if q.Age > 0 {
		c.To = f.Deps.Now().Add(-q.Age)
	}
	if q.State == OpenTasks {
		c.Status, c.Open = "", true
	}
	after, err := cursorOf(q.After)
	if err != nil {
		return list, err
	}
	var claims []cache.Claim
	if q.Team == "" {
		claims, list.Next, err = f.tasksOfAll(ctx, p, c, after)
	} else if _, err = f.find(p, q.Team); err == nil {
		claims, list.Next, err = f.paged(ctx, []string{q.Team}, c, after)
	}
	if err != nil {
		return list, err
	}
	for i := range claims {
		list.Tasks = append(list.Tasks, lineOf(&claims[i]))
	}
	return list, nil
}

var errCursor = fmt.Errorf("%w: the cursor does not come from a page", ErrQuery)

// cursorOf parses a page's cursor: a page number for one team's tasks and for open ones, else the time before which tasks were created.
func cursorOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 1 {
		return 0, errCursor
	}
	return after, nil
}

// tasksOfAll reads tasks of all teams. Open ones come from their own list, which finds an old one among many that have ended.
func (f *Figures) tasksOfAll(ctx context.Context, p access.Person, c cache.Filter, after int64) ([]cache.Claim, string, error) {
	visible, _ := f.visible(p)
	ids := idsOf(visible)
	if c.Open = c.Open || c.Status != "" && !c.Status.Final(); c.Open {
		return f.paged(ctx, ids, c, after)
	}
	if after > f.Deps.Now().AddDate(0, 0, 1).UnixMicro() { // clocks differ by less than a day
		return nil, "", errCursor
	}
	c.Newest, c.Before = true, after
	page, err := f.Tasks.List(ctx, ids, c)
	if err != nil || page.Next == 0 {
		return page.Tasks, "", err
	}
	return page.Tasks, strconv.FormatInt(page.Next, 10), nil
}

// paged reads a page by its number.
func (f *Figures) paged(ctx context.Context, teams []string, c cache.Filter, after int64) (claims []cache.Claim, next string, err error) {
	if after > mostPages {
		return nil, "", errCursor
	}
	c.Page = int(max(after, 1))
	page, err := f.Tasks.List(ctx, teams, c)
	if c.Page*c.Size < page.Total {
		next = strconv.Itoa(c.Page + 1)
	}
	return page.Tasks, next, err
}

// Task returns one task of a team.
func (f *Figures) Task(ctx context.Context, p access.Person, team, id string) (t Task, err error) {
	if _, err := f.find(p, team); err != nil {
		return t, err
	}
	claim, found, err := f.Tasks.Get(ctx, team, id)
	if err != nil {
		return t, err
	}
	if !found {
		return t, ErrAbsent
	}
	t = Task{TaskLine: lineOf(&claim), Key: claim.Key, Request: limit.RequestOf(claim.Hold.ID), Held: tasks.HeldBy(&claim.Hold)}
	_, t.Estimated, _ = tasks.Settled(&claim)
	if parts := strings.Split(claim.Trace, "-"); len(parts) == 4 {
		t.TraceID = parts[1]
	}
	t.Pictures, t.Message = contentOf(claim.Body)
	return t, nil
}

func lineOf(c *cache.Claim) TaskLine {
	line := TaskLine{
		Team: c.Team, ID: c.Task, Model: c.Model, State: string(c.Answer.Status), Open: !c.Final(), Created: c.Created,
		Submitted: c.Answer.Submitted, Begun: c.Answer.Scheduled, Ended: c.Answer.Ended, Cost: tasks.HeldBy(&c.Hold),
	}
	line.PollsServed, line.QueriesSent = c.Polls()
	if cost, _, ended := tasks.Settled(c); ended {
		line.Cost = cost
	}
	return line
}

// contentOf reads the addresses of pictures and the error from a task's last answer. It leaves out unreadable parts.
func contentOf(body []byte) (pictures []string, message string) {
	var answer struct {
		Output struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"output"`
	}
	var whole any
	if json.Unmarshal(body, &whole) != nil {
		return nil, ""
	}
	_ = json.Unmarshal(body, &answer) // a member of another type counts as absent
	message = answer.Output.Message
	if answer.Output.Code != "" {
		message = strings.TrimSuffix(answer.Output.Code+": "+message, ": ")
	}
	collectAddresses(whole, &pictures)
	return pictures, message
}

// collectAddresses adds the addresses under the names that the service gives to pictures.
func collectAddresses(value any, list *[]string) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			collectAddresses(v, list)
		}
	case map[string]any:
		for _, name := range []string{"output", "results", "choices", "message", "content", "image", "url"} {
			if text, ok := value[name].(string); ok && (name == "image" || name == "url") && isAddress(text) {
				*list = append(*list, text)
			} else {
				collectAddresses(value[name], list)
			}
		}
	}
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}
