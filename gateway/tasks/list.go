package tasks

import (
	"context"
	"encoding/json"
	"time"

	"sluice/cache"
)

// List returns a page of the team's tasks that match the filter, and how many match. Its error says why they are not known.
func (t *Tasks) List(ctx context.Context, team string, f cache.Filter) ([]cache.Claim, int, error) {
	return t.deps.Claims.List(ctx, team, f)
}

type listedTask struct {
	Task    string       `json:"task_id"`
	Model   string       `json:"model_name"`
	Status  cache.Status `json:"status"`
	Created int64        `json:"gmt_create"`
	Started *int64       `json:"start_time"` // null until it is known
	Ended   *int64       `json:"end_time"`
}

// ListBody writes a page in the form of the service's list. id is the request's.
func ListBody(tasks []cache.Claim, total int, f cache.Filter, id string) []byte {
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
