package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sluice/cache"
)

// list answers GET tasks with the team's own tasks, from the claims: upstream's list shows those of every team.
func (g *Gateway) list(w *reply, r *http.Request, c *call) error {
	filter, err := g.readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	tasks, total, err := g.Claims.List(r.Context(), c.Team, filter)
	if err != nil {
		return refuse(refuseClaim).say("The team's tasks are not known at the moment.").because(err).retry(time.Second)
	}
	return answer{status: http.StatusOK, header: jsonHeader(), body: listBody(tasks, total, filter, c.ID)}.write(w)
}

type listedTask struct {
	Task    string       `json:"task_id"`
	Model   string       `json:"model_name"`
	Status  cache.Status `json:"status"`
	Created int64        `json:"gmt_create"`
	Started *int64       `json:"start_time"` // null until it is known
	Ended   *int64       `json:"end_time"`
}

func listBody(tasks []cache.Claim, total int, f cache.Filter, id string) []byte {
	size := cache.PageSize(f.Size)
	list := struct {
		Total     int          `json:"total"`
		Data      []listedTask `json:"data"`
		TotalPage int          `json:"total_page"`
		PageNo    int          `json:"page_no"`
		PageSize  int          `json:"page_size"`
		RequestID string       `json:"request_id"`
	}{total, make([]listedTask, len(tasks)), (total + size - 1) / size, max(f.Page, 1), size, id}
	for i := range tasks {
		t := &tasks[i]
		list.Data[i] = listedTask{t.Task, t.Model, t.Answer.Status, t.Submitted().UnixMilli(), millis(t.Answer.Scheduled), millis(t.Answer.Ended)}
	}
	body, _ := json.Marshal(list) // strings and numbers always encode
	return body
}

func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// listTime is the form of start_time and end_time in the query.
const listTime = "20060102150405"

func (g *Gateway) readFilter(q url.Values) (cache.Filter, error) {
	f := cache.Filter{Task: q.Get("task_id"), Model: q.Get("model_name"), Status: cache.Status(q.Get("status"))}
	err := errors.Join(
		readNumber(q, "page_no", &f.Page),
		readNumber(q, "page_size", &f.Size),
		readListTime(q, "start_time", g.TaskZone, &f.From),
		readListTime(q, "end_time", g.TaskZone, &f.To),
	)
	if err != nil {
		return f, refuse(refuseRules).say("%s", err.Error())
	}
	return f, nil
}

func readNumber(q url.Values, name string, to *int) error {
	v := q.Get(name)
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<30 {
		return fmt.Errorf("%s is a number from 1 to 2^30; %s was given", name, brief(v))
	}
	*to = n
	return nil
}

func readListTime(q url.Values, name string, zone *time.Location, to *time.Time) error {
	v := q.Get(name)
	if v == "" {
		return nil
	}
	t, err := time.ParseInLocation(listTime, v, zone)
	if err != nil {
		return fmt.Errorf("%s is a time as YYYYMMDDhhmmss; %s was given", name, brief(v))
	}
	*to = t
	return nil
}
