package simulator

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// list requests a page of tasks.
func (r *rig) list(query string) object {
	r.t.Helper()
	g := r.get(tasksPath + "?" + query)
	if g.status != 200 {
		r.t.Fatalf("list %s: %d %s", query, g.status, g.body)
	}
	return g.object(r.t)
}

// ids are the tasks of a page in order.
func ids(page object) []string {
	var out []string
	for _, line := range get[[]any](page, "data") {
		out = append(out, at(line, "task_id").(string))
	}
	return out
}

func TestListPages(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	var made []string
	for range 23 {
		made = append([]string{r.createTask(imagePath, edit(""))}, made...) // newest first
		r.clock.Advance(time.Second)
	}
	for _, tt := range []struct {
		query          string
		from, to       int
		no, size, page float64
	}{
		{"", 0, 10, 1, 10, 3},
		{"page_no=2", 10, 20, 2, 10, 3},
		{"page_no=3", 20, 23, 3, 10, 3},
		{"page_no=4", 23, 23, 4, 10, 3},
		{"page_size=23", 0, 23, 1, 23, 1},
		{"page_size=5&page_no=2", 5, 10, 2, 5, 5},
		{"page_size=100", 0, 23, 1, 100, 1},
	} {
		page := r.list(tt.query)
		if got, want := strings.Join(ids(page), " "), strings.Join(made[tt.from:tt.to], " "); got != want {
			t.Errorf("%q lists\n%s\nwant\n%s", tt.query, got, want)
		}
		if page["total"] != 23. || page["page_no"] != tt.no || page["page_size"] != tt.size || page["total_page"] != tt.page || page["request_id"] == "" {
			t.Errorf("%q is page %v", tt.query, page)
		}
	}
	for _, query := range []string{"page_no=0", "page_no=x", "page_size=0", "page_size=101", "page_size=-1", "start_time=yesterday", "end_time=2026-03-04"} {
		r.get(tasksPath+"?"+query).want(t, 400, "InvalidParameter")
	}
}

func TestListFilters(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1, Pending: time.Minute, Running: time.Hour})
	edited := r.createTask(imagePath, edit("")) // at 13:06:07.089, UTC+8
	r.clock.Advance(time.Minute)
	old := r.createTask(olderPath, older("")) // at 13:07:07.089
	gone := r.createTask(olderPath, older(""))
	r.post(tasksPath+"/"+gone+"/cancel", "")
	for _, tt := range []struct{ query, want string }{
		{"", gone + " " + old + " " + edited},
		{"task_id=" + old, old},
		{"task_id=nobody", ""},
		{"model_name=gen2.6-image", edited},
		{"status=RUNNING", edited},
		{"status=PENDING", old},
		{"status=CANCELED", gone},
		{"status=CANCELLED", gone},
		{"status=PENDING&model_name=gen2.6-image", ""},
		{"start_time=20260304130707", gone + " " + old},
		{"start_time=20260304130708", ""},
		{"end_time=20260304130707", edited},
		{"end_time=20260304130607", ""},
		{"start_time=20260304130607&end_time=20260304130608", edited},
		{url.Values{"model_name": {"gen2.2-t2i"}, "page_size": {"1"}}.Encode(), gone},
	} {
		if got := strings.Join(ids(r.list(tt.query)), " "); got != tt.want {
			t.Errorf("%q lists %s, want %s", tt.query, got, tt.want)
		}
	}
}

func TestListLine(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(""))
	request := r.Requests()[0].ID
	created := float64(start.UnixMilli())
	for _, tt := range []struct {
		step       time.Duration
		status     string
		start, end any
	}{
		{0, "PENDING", nil, nil},
		{2 * time.Second, "RUNNING", created + 2000, nil},
		{3 * time.Second, "SUCCEEDED", created + 2000, created + 5000},
	} {
		r.clock.Advance(tt.step)
		line := at(r.list(""), "data", 0)
		for name, want := range map[string]any{
			"task_id": id, "model_name": "gen2.6-image", "status": tt.status, "gmt_create": created,
			"start_time": tt.start, "end_time": tt.end, "request_id": request, "api_key_id": LeakMark, "caller_uid": LeakMark,
		} {
			if got := at(line, name); got != want {
				t.Errorf("%s: %s is %v, want %v", tt.status, name, got, want)
			}
		}
	}
	r.clock.Advance(24 * time.Hour)
	if page := r.list(""); page["total"] != 0. {
		t.Errorf("a day later there are %v", page)
	}
}

func TestListOfACanceledTask(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(""))
	r.clock.Advance(time.Second)
	r.post(tasksPath+"/"+id+"/cancel", "")
	line := at(r.list(""), "data", 0)
	if at(line, "start_time") != nil || fmt.Sprint(at(line, "end_time")) != fmt.Sprint(float64(start.Add(time.Second).UnixMilli())) {
		t.Errorf("line is %v", line)
	}
}
