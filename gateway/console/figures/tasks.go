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

// TaskFilter chooses tasks. Empty fields choose all.
type TaskFilter struct {
	Team, Model, State string // State as the service writes it, such as RUNNING
	After              string // cursor of the next page
	Size               int    // tasks on a page, at most 100; 0: 100
}

// TaskList is a page of tasks, the newest first.
type TaskList struct {
	Tasks []TaskLine
	Next  string // cursor; empty: no more
}

// TaskLine is a task as a row of the list.
type TaskLine struct {
	Team, ID, Model          string
	State                    string // in the service's words: PENDING, RUNNING, SUCCEEDED
	Open                     bool
	Created                  time.Time
	Submitted, Begun, Ended  time.Time // as the service says; zero: not known
	PollsServed, QueriesSent int64
	Cost                     limit.Amounts // settled if it is not open, else held
}

// Task is one task.
type Task struct {
	TaskLine
	Key, Request, TraceID string // of its creation; TraceID is empty if none was recorded
	Held                  limit.Amounts
	Estimated             bool     // the service did not count the pictures: Cost is what was held
	Pictures              []string // addresses at the service, while they live
	Message               string   // the service's error; empty: none
}

const (
	mostTasks = 100
	mostPages = 1 << 20 // a page beyond is of a cursor that was made up
)

// TaskList returns a page of tasks: of one team, those that the service still knows; of several, those that have not ended.
func (f *Figures) TaskList(ctx context.Context, p access.Person, q TaskFilter) (list TaskList, err error) {
	size := q.Size
	if size < 1 {
		size = mostTasks
	}
	c := cache.Filter{Model: q.Model, Status: cache.Status(q.State), Page: 1, Size: min(size, mostTasks)}
	if q.After != "" {
		if c.Page, err = strconv.Atoi(q.After); err != nil || c.Page < 1 || c.Page > mostPages {
			return list, fmt.Errorf("%w: the cursor is not one of a page", ErrQuery)
		}
	}
	var claims []cache.Claim
	var total int
	if q.Team == "" {
		teams, _ := f.visible(p)
		claims, total, err = f.Tasks.ListOpen(ctx, idsOf(teams), c)
	} else if _, err = f.find(p, q.Team); err == nil {
		claims, total, err = f.Tasks.List(ctx, q.Team, c)
	}
	if err != nil {
		return list, err
	}
	for i := range claims {
		list.Tasks = append(list.Tasks, lineOf(&claims[i]))
	}
	if c.Page*c.Size < total {
		list.Next = strconv.Itoa(c.Page + 1)
	}
	return list, nil
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
	t = Task{TaskLine: lineOf(&claim), Key: claim.Key, Request: claim.Hold.ID, Held: tasks.TaskCost(&claim.Hold, claim.Hold.Images)}
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
		Submitted: c.Answer.Submitted, Begun: c.Answer.Scheduled, Ended: c.Answer.Ended, Cost: tasks.TaskCost(&c.Hold, c.Hold.Images),
	}
	line.PollsServed, line.QueriesSent = c.Polls()
	if cost, _, ended := tasks.Settled(c); ended {
		line.Cost = cost
	}
	return line
}

// contentOf reads the addresses of pictures and the error out of a task's last answer. What it cannot read is absent.
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
	_ = json.Unmarshal(body, &answer) // a member of another type is absent
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
