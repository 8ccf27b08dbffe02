package simulator

import (
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator/fault"
)

func TestTaskPaceFault(t *testing.T) {
	r := newRig(t, Config{Pending: time.Hour, Running: time.Hour})
	id := r.createTask(imagePath, edit(`"simulate":{"task":{"pending_ms":1000,"running_ms":0}}`))
	for _, tt := range []struct {
		step time.Duration
		want string
	}{{0, "PENDING"}, {999 * time.Millisecond, "PENDING"}, {time.Millisecond, "SUCCEEDED"}} {
		r.clock.Advance(tt.step)
		if got := at(r.poll(id), "output", "task_status"); got != tt.want {
			t.Errorf("the task is %v, want %s", got, tt.want)
		}
	}
}

func TestTaskOutcomeFromEverySource(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(fault.Fault{On: EndpointImage, Task: &fault.Task{Outcome: "fail"}})
	if got := at(r.poll(r.createTask(imagePath, edit(""))), "output", "task_status"); got != "FAILED" {
		t.Errorf("by setting: %v", got)
	}
	g := r.post(imagePath, edit(""), append(async, "X-Simulate", `{"task":{"outcome":"cancel"}}`)...)
	if got := at(r.poll(at(g.object(t), "output", "task_id").(string)), "output", "task_status"); got != "CANCELED" {
		t.Errorf("by header: %v", got)
	}
}

func TestFailedStraightFromPending(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(`"simulate":{"task":{"outcome":"fail_pending"}}`))
	r.clock.Advance(2*time.Second - time.Nanosecond)
	if got := at(r.poll(id), "output", "task_status"); got != "PENDING" {
		t.Errorf("before: %v", got)
	}
	r.clock.Advance(time.Nanosecond)
	o := r.poll(id)
	if at(o, "output", "task_status") != "FAILED" || at(o, "output", "end_time") != "2026-03-04 13:06:09.089" {
		t.Errorf("after: %v", o)
	}
}

func TestSuspendedTask(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(`"simulate":{"task":{"outcome":"suspend"}}`))
	if got := at(r.poll(id), "output", "task_status"); got != "SUSPENDED" {
		t.Errorf("the task is %v", got)
	}
	r.clock.Advance(time.Minute)
	if got := at(r.poll(id), "output", "task_status"); got != "SUCCEEDED" {
		t.Errorf("a minute later it is %v", got)
	}
}

func TestStatesGoBackwards(t *testing.T) {
	r := newRig(t, Config{})
	id := r.createTask(imagePath, edit(`"simulate":{"task":{"states":["SUCCEEDED","RUNNING","WEIRD"]}}`))
	for _, want := range []string{"SUCCEEDED", "RUNNING", "WEIRD", "WEIRD"} {
		o := r.poll(id)
		if got := at(o, "output", "task_status"); got != want {
			t.Errorf("the task is %v, want %s", got, want)
		}
		if there := at(o, "output", "choices") != nil; there != (want == "SUCCEEDED") {
			t.Errorf("%s: results are there: %v", want, there)
		}
	}
}

func TestWrongTaskID(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(imagePath, edit(`"simulate":{"task_id":"foreign"}`), async...).object(t)
	if at(o, "output", "task_id") != "foreign" {
		t.Errorf("created %v", o)
	}
	id := r.createTask(imagePath, edit(`"simulate":{"poll":{"task_id":"foreign"}}`))
	if o := r.poll(id); at(o, "output", "task_id") != "foreign" || at(o, "output", "choices") == nil {
		t.Errorf("polled %v", o)
	}
}

func TestPollFaultOfOneTask(t *testing.T) {
	r := newRig(t, Config{})
	bad := r.createTask(imagePath, edit(`"simulate":{"poll":{"error":{"status":503}}}`))
	good := r.createTask(imagePath, edit(""))
	r.get(tasksPath+"/"+bad).want(t, 503, "ModelUnavailable")
	r.get(tasksPath+"/"+bad).want(t, 503, "ModelUnavailable")
	if got := at(r.poll(good), "output", "task_status"); got != "SUCCEEDED" {
		t.Errorf("the other task is %v", got)
	}
	if g := r.post(tasksPath+"/"+bad+"/cancel", ""); g.status != 400 {
		t.Errorf("the fault hit the cancel: %d", g.status)
	}
}

// A fault of the creation does not affect the task.
func TestCreationFaultIsNotThePolls(t *testing.T) {
	r := newRig(t, Config{})
	r.post(imagePath, edit(`"simulate":{"error":{"status":500,"executed":true}}`), async...).want(t, 500, "InternalError")
	o := r.get(tasksPath).object(t)
	id, _ := at(o, "data", 0, "task_id").(string)
	if got := at(r.poll(id), "output", "task_status"); got != "SUCCEEDED" {
		t.Errorf("the task behind the error is %v", got)
	}
}

func TestTaskIDsAreDistinct(t *testing.T) {
	r := newRig(t, Config{})
	seen := map[string]bool{}
	for range 20 {
		id := r.createTask(imagePath, edit(""))
		if seen[id] || strings.ContainsAny(id, "/?&# ") {
			t.Errorf("id %q", id)
		}
		seen[id] = true
	}
}
