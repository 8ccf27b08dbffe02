package task

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/simulator/answer"
)

// listed is a task in a list.
type listed struct {
	Task
	state string
}

// taskList is a page of tasks on the wire.
type taskList struct {
	Total     int        `json:"total"`
	Data      []taskLine `json:"data"`
	TotalPage int        `json:"total_page"`
	PageNo    int        `json:"page_no"`
	PageSize  int        `json:"page_size"`
	RequestID string     `json:"request_id"`
}

// taskLine is one task of it. Times are in milliseconds; the key and the account leak.
type taskLine struct {
	APIKeyID  string `json:"api_key_id"`
	CallerUID string `json:"caller_uid"`
	Created   int64  `json:"gmt_create"`
	Start     *int64 `json:"start_time,omitempty"`
	End       *int64 `json:"end_time,omitempty"`
	Model     string `json:"model_name"`
	RequestID string `json:"request_id"`
	Status    string `json:"status"`
	TaskID    string `json:"task_id"`
}

// Bounds of a page.
const (
	defaultPage = 10
	maxPage     = 100
)

// List answers a page of the whole account's tasks that the query selects, newest first.
func (ts *Store) List(q url.Values, requestID string, now time.Time) (taskList, error) {
	no, err := natural(q, "page_no", 1, 1<<30)
	if err != nil {
		return taskList{}, err
	}
	size, err := natural(q, "page_size", defaultPage, maxPage)
	if err != nil {
		return taskList{}, err
	}
	wanted, err := ts.filter(q)
	if err != nil {
		return taskList{}, err
	}
	list := taskList{Data: []taskLine{}, PageNo: no, PageSize: size, RequestID: requestID}
	for _, t := range ts.newest(now) {
		if !wanted(t) {
			continue
		}
		if page := list.Total / size; page == no-1 {
			list.Data = append(list.Data, t.line(now))
		}
		list.Total++
	}
	list.TotalPage = (list.Total + size - 1) / size
	return list, nil
}

// newest returns copies of all tasks with their states, newest first.
func (ts *Store) newest(now time.Time) []listed {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var out []listed
	for _, t := range ts.order {
		if state := t.state(now, &ts.set); state != answer.StateUnknown {
			out = append(out, listed{*t, state})
		}
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b listed) int { return cmp.Compare(b.created.UnixNano(), a.created.UnixNano()) })
	return out
}

// natural reads a positive number of the query.
func natural(q url.Values, name string, absent, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, answer.Invalid("%s must be in [1, %d]", name, most)
	}
	return n, nil
}

// filter returns the tasks that the query selects.
func (ts *Store) filter(q url.Values) (func(listed) bool, error) {
	from, to := time.Time{}, time.Unix(1<<40, 0)
	for name, t := range map[string]*time.Time{"start_time": &from, "end_time": &to} {
		if text := q.Get(name); text != "" {
			var err error
			if *t, err = time.ParseInLocation("20060102150405", text, ts.set.Zone); err != nil {
				return nil, answer.Invalid("%s must have the form YYYYMMDDhhmmss", name)
			}
		}
	}
	is := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
	return func(t listed) bool {
		return is("task_id", t.ID) && is("model_name", t.Model) && sameState(q.Get("status"), t.state) &&
			!t.created.Before(from) && !t.created.After(to)
	}, nil
}

// sameState reports whether a list of the wanted state, empty for all, holds a task in that state.
func sameState(wanted, state string) bool {
	one := strings.NewReplacer("CANCELLED", "CANCELED") // two spellings of one state
	return wanted == "" || one.Replace(wanted) == one.Replace(state)
}

func (t listed) line(now time.Time) taskLine {
	start, end := t.times(t.state, now)
	return taskLine{
		APIKeyID: answer.LeakMark, CallerUID: answer.LeakMark, Created: t.created.UnixMilli(),
		Start: millis(start), End: millis(end),
		Model: t.Model, RequestID: t.Request, Status: t.state, TaskID: t.ID,
	}
}

// millis is a time in milliseconds, or nil for zero.
func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}
