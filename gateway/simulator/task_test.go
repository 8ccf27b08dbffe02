package simulator

import (
	"strings"
	"testing"
	"time"
)

// paced is the pace of most tests.
var paced = Config{Pending: 2 * time.Second, Running: 3 * time.Second}

// An edit with the SSE header is no stream.
func TestEditIsNeverAStream(t *testing.T) {
	r := newRig(t, Config{})
	if o := r.post(imagePath, edit(""), append(sse, async...)...).object(t); at(o, "output", "task_status") != "PENDING" {
		t.Errorf("it is answered %v", o)
	}
}

func TestAddressesStayTheSame(t *testing.T) {
	r := newRig(t, Config{})
	id := r.createTask(imagePath, edit(""))
	image := func() any {
		return at(r.poll(id), "output", "choices", 3, "message", "content", 0, "image")
	}
	first := image()
	r.clock.Advance(23*time.Hour + 59*time.Minute)
	if again := image(); first == nil || again != first {
		t.Errorf("the address was %v and is %v", first, again)
	}
	if g := r.fetch(first.(string)); g.status != 200 {
		t.Errorf("the address is answered %d", g.status)
	}
	r.clock.Advance(time.Minute)
	r.fetch(first.(string)).want(t, 403, "AccessDenied")
}

func TestPromptIsExtendedByDefault(t *testing.T) {
	r := newRig(t, Config{})
	result := at(r.poll(r.createTask(olderEditPath, older(``))), "output", "results", 0)
	orig, actual := at(result, "orig_prompt"), at(result, "actual_prompt").(string)
	if orig != "A quiet lake" || !strings.HasPrefix(actual, "A quiet lake, ") {
		t.Errorf("result is %v", result)
	}
}

func TestLongPromptIsCut(t *testing.T) {
	r := newRig(t, Config{})
	long := strings.Repeat("湖", 2317)
	id := r.createTask(olderPath, strings.Replace(older(``), "A quiet lake", long, 1))
	if got, _ := at(r.poll(id), "output", "results", 0, "orig_prompt").(string); got != strings.Repeat("湖", 2000) {
		t.Errorf("the prompt was cut to %d bytes", len(got))
	}
}

func TestStyleFollowsGeneration(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct{ path, model, style string }{
		{imagePath, "gen2.6-image", "choices"}, {imagePath, "gen2.6-t2i", "choices"},
		{olderPath, "gen2.6-t2i", "choices"}, {olderPath, "gen2.5-t2i", "results"}, {olderEditPath, "gen2.2-edit", "results"},
	} {
		body := strings.Replace(edit(""), "gen2.6-image", tt.model, 1)
		if tt.path != imagePath {
			body = strings.Replace(older(""), "gen2.2-t2i", tt.model, 1)
		}
		out := r.poll(r.createTask(tt.path, body))["output"]
		for _, style := range []string{"choices", "results"} {
			if n := len(get[[]any](out, style)); (n == 4) != (style == tt.style) || (n == 0) != (style != tt.style) {
				t.Errorf("%s by %s has %d %s", tt.model, tt.path, n, style)
			}
		}
	}
}

func TestImageCountFaults(t *testing.T) {
	for _, tt := range []struct {
		name         string
		fate         FaultTask
		told, billed any
	}{
		{"success", FaultTask{}, 3., int64(3)},
		{"one failed", FaultTask{Outcome: "partial"}, 2., int64(2)},
		{"more failed than there are", FaultTask{Outcome: "partial", Failed: 9}, 0., int64(0)},
		{"failed but not partial", FaultTask{Failed: 2}, 3., int64(3)},
		{"told more", FaultTask{ImageCount: new(7)}, 7., int64(7)},
		{"told none", FaultTask{ImageCount: new(0)}, 0., int64(0)},
		{"not told", FaultTask{NoImageCount: true}, nil, int64(3)},
		{"failed", FaultTask{Outcome: "fail"}, nil, int64(0)},
	} {
		r := newRig(t, Config{})
		r.SetFault(Fault{Task: &tt.fate})
		o := r.poll(r.createTask(imagePath, edit(`"n":3`)))
		if at(o, "usage", "image_count") != tt.told || r.Tally().Images != tt.billed {
			t.Errorf("%s: usage %v, billed %d", tt.name, o["usage"], r.Tally().Images)
		}
	}
}

// Any key of the account can poll and cancel every task.
func TestTasksBelongToTheAccount(t *testing.T) {
	cfg := paced
	cfg.Keys = []string{"k", "other"}
	r := newRig(t, cfg)
	id := r.createTask(imagePath, edit(""))
	other := []string{"Authorization", "Bearer other"}
	if o := r.get(tasksPath+"/"+id, other...).object(t); at(o, "output", "task_status") != "PENDING" {
		t.Errorf("another key sees %v", o)
	}
	if g := r.do("POST", tasksPath+"/"+id+"/cancel", "", other...); g.status != 200 {
		t.Errorf("another key cancels with %d", g.status)
	}
}

func TestCancelTooLate(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(""))
	r.clock.Advance(2 * time.Second)
	r.post(tasksPath+"/"+id+"/cancel", "").want(t, 400, "UnsupportedOperation")
	r.post(tasksPath+"/nobody/cancel", "").want(t, 400, "UnsupportedOperation")
	canceled := r.createTask(imagePath, edit(""))
	if g := r.post(tasksPath+"/"+canceled+"/cancel", ""); g.status != 200 {
		t.Errorf("a pending task is cancelled with %d", g.status)
	}
	r.post(tasksPath+"/"+canceled+"/cancel", "").want(t, 400, "UnsupportedOperation")
	if got := at(r.poll(id), "output", "task_status"); got != "RUNNING" {
		t.Errorf("the task is %v", got)
	}
}

func TestWrongTaskID(t *testing.T) {
	r := newRig(t, Config{})
	id := r.createTask(imagePath, edit(``))
	r.SetFault(Fault{TaskID: "foreign"})
	if o := r.post(imagePath, edit(``), async...).object(t); at(o, "output", "task_id") != "foreign" {
		t.Errorf("created %v", o)
	}
	if o := r.poll(id); at(o, "output", "task_id") != "foreign" || at(o, "output", "choices") == nil {
		t.Errorf("polled %v", o)
	}
}

// The states of a task by its outcome, at each of its times.
func TestTaskStates(t *testing.T) {
	for _, tt := range []struct {
		outcome                                                            string
		made, beforeStart, started, beforeEnd, ended, beforeGone, wantGone string
	}{
		{"", "PENDING", "PENDING", "RUNNING", "RUNNING", "SUCCEEDED", "SUCCEEDED", "UNKNOWN"},
		{"succeed", "PENDING", "PENDING", "RUNNING", "RUNNING", "SUCCEEDED", "SUCCEEDED", "UNKNOWN"},
		{"partial", "PENDING", "PENDING", "RUNNING", "RUNNING", "SUCCEEDED", "SUCCEEDED", "UNKNOWN"},
		{"fail", "PENDING", "PENDING", "RUNNING", "RUNNING", "FAILED", "FAILED", "UNKNOWN"},
		{"fail_pending", "PENDING", "PENDING", "FAILED", "FAILED", "FAILED", "FAILED", "UNKNOWN"},
		{"cancel", "PENDING", "PENDING", "RUNNING", "RUNNING", "CANCELED", "CANCELED", "UNKNOWN"},
		{"never", "PENDING", "PENDING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "UNKNOWN"},
	} {
		task := &task{created: start, start: start.Add(2 * time.Second), end: start.Add(5 * time.Second), fate: FaultTask{Outcome: tt.outcome}}
		for after, want := range map[time.Duration]string{
			-time.Minute: tt.made, 0: tt.made, 2*time.Second - 1: tt.beforeStart, 2 * time.Second: tt.started, 5*time.Second - 1: tt.beforeEnd,
			5 * time.Second: tt.ended, lifetime - 1: tt.beforeGone, lifetime: tt.wantGone,
		} {
			if got := task.state(start.Add(after)); got != want {
				t.Errorf("outcome %q after %v is %s, want %s", tt.outcome, after, got, want)
			}
		}
	}
}
