package simulator

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// taskList is a page of tasks on the wire.
type taskList struct {
	Total     int        `json:"total"`
	Data      []taskLine `json:"data"`
	TotalPage int        `json:"total_page"`
	PageNo    int        `json:"page_no"`
	PageSize  int        `json:"page_size"`
	RequestID string     `json:"request_id"`
}

// taskLine is one task of the list. Times are in milliseconds. It leaks the key and the account, as the service does.
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

// list answers a page of the whole account's tasks that the query selects, newest first.
func (ts *tasks) list(c *call) (*answer, error) {
	q := c.r.URL.Query()
	no, err1 := natural(q, "page_no", 1, 1<<30)
	size, err2 := natural(q, "page_size", 10, 100)
	from, err3 := listTime(q, "start_time", time.Time{})
	to, err4 := listTime(q, "end_time", time.Unix(1<<40, 0))
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	is := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
	q.Set("status", strings.ReplaceAll(q.Get("status"), "CANCELLED", stateCanceled)) // two spellings of one state
	l := taskList{Data: []taskLine{}, PageNo: no, PageSize: size, RequestID: c.ID}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range slices.Backward(ts.order) {
		state := t.state(c.At)
		if state == stateUnknown || t.account != c.Account || t.created.Before(from) || t.created.After(to) ||
			!is("task_id", t.id) || !is("model_name", t.model) || !is("status", state) {
			continue
		}
		if l.Total/size == no-1 {
			l.Data = append(l.Data, t.line(state))
		}
		l.Total++
	}
	l.TotalPage = (l.Total + size - 1) / size
	return &answer{doc: l}, nil
}

// natural parses a positive number of the query.
func natural(q url.Values, name string, absent, most int) (int, error) {
	if q.Get(name) == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, invalid("%s must be in [1, %d]", name, most)
	}
	return n, nil
}

// listTime parses a time of the query.
func listTime(q url.Values, name string, absent time.Time) (time.Time, error) {
	if q.Get(name) == "" {
		return absent, nil
	}
	t, err := time.ParseInLocation("20060102150405", q.Get(name), zone)
	if err != nil {
		return t, invalid("%s must have the form YYYYMMDDhhmmss", name)
	}
	return t, nil
}

// line returns the task in this state for a list.
func (t *task) line(state string) taskLine {
	millis := func(at time.Time) (ms *int64) {
		if !at.IsZero() {
			ms = new(at.UnixMilli())
		}
		return ms
	}
	start, end := t.times(state)
	return taskLine{
		APIKeyID: LeakMark, CallerUID: LeakMark, Created: t.created.UnixMilli(), Start: millis(start), End: millis(end),
		Model: t.model, RequestID: t.request, Status: state, TaskID: t.id,
	}
}
