package task

import (
	"cmp"
	"testing"
	"time"

	"sluice/gateway/simulator/fault"
)

// aged is a task made at the begin with a pace of two and three seconds.
func aged(outcome string) *Task {
	return &Task{
		created: begin, start: begin.Add(2 * time.Second), end: begin.Add(5 * time.Second),
		Count: 4, Fate: fault.Task{Outcome: outcome},
	}
}

// begin is the time at which every test's clock begins.
var begin = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// settings fills in unset fields.
func settings(set Settings) Settings {
	set.TTL = cmp.Or(set.TTL, 24*time.Hour)
	set.Max = cmp.Or(set.Max, 10_000)
	set.Canceled = cmp.Or(set.Canceled, "CANCELED")
	return set
}

func TestTaskStates(t *testing.T) {
	set := settings(Settings{})
	for _, tt := range []struct {
		outcome string
		after   time.Duration
		want    string
	}{
		{"", 0, "PENDING"},
		{"", 2*time.Second - 1, "PENDING"},
		{"", 2 * time.Second, "RUNNING"},
		{"", 5*time.Second - 1, "RUNNING"},
		{"", 5 * time.Second, "SUCCEEDED"},
		{"", 24*time.Hour - 1, "SUCCEEDED"},
		{"", 24 * time.Hour, "UNKNOWN"},
		{"", -time.Minute, "PENDING"}, // a clock set back
		{"succeed", 5 * time.Second, "SUCCEEDED"},
		{"partial", 5 * time.Second, "SUCCEEDED"},
		{"fail", 0, "PENDING"},
		{"fail", 5*time.Second - 1, "RUNNING"},
		{"fail", 5 * time.Second, "FAILED"},
		{"fail_pending", 2*time.Second - 1, "PENDING"},
		{"fail_pending", 2 * time.Second, "FAILED"},
		{"suspend", 0, "SUSPENDED"},
		{"suspend", 2*time.Second - 1, "SUSPENDED"},
		{"suspend", 2 * time.Second, "RUNNING"},
		{"suspend", 5 * time.Second, "SUCCEEDED"},
		{"cancel", 5*time.Second - 1, "RUNNING"},
		{"cancel", 5 * time.Second, "CANCELED"},
		{"never", 2*time.Second - 1, "PENDING"},
		{"never", 24*time.Hour - 1, "RUNNING"},
		{"never", 24 * time.Hour, "UNKNOWN"},
	} {
		if got := aged(tt.outcome).state(begin.Add(tt.after), &set); got != tt.want {
			t.Errorf("outcome %q after %v is %s, want %s", tt.outcome, tt.after, got, tt.want)
		}
	}
}

func TestCanceledAndLiveStates(t *testing.T) {
	set := settings(Settings{Canceled: "CANCELLED"})
	canceled, live := aged(""), aged("")
	canceled.canceled = begin.Add(time.Second)
	live.Live = true
	late := begin.Add(time.Hour)
	if got := canceled.state(late, &set); got != "CANCELLED" {
		t.Errorf("cancelled is %s", got)
	}
	if got := canceled.state(begin.Add(24*time.Hour), &set); got != "UNKNOWN" {
		t.Errorf("cancelled a day ago is %s", got)
	}
	if got := live.state(late, &set); got != "RUNNING" {
		t.Errorf("a task that still streams is %s", got)
	}
}

func TestTaskEnded(t *testing.T) {
	canceled := aged("")
	canceled.canceled = begin.Add(time.Second)
	for name, tt := range map[string]struct {
		task *Task
		want time.Duration
	}{
		"success":              {aged(""), 5 * time.Second},
		"failure":              {aged("fail"), 5 * time.Second},
		"failure from PENDING": {aged("fail_pending"), 2 * time.Second},
		"cancelled":            {canceled, time.Second},
	} {
		if got := tt.task.ended().Sub(begin); got != tt.want {
			t.Errorf("%s: ended after %v, want %v", name, got, tt.want)
		}
	}
}

func TestImageCount(t *testing.T) {
	nine, none := 9, 0
	for _, tt := range []struct {
		name  string
		fate  fault.Task
		state string
		told  int // -1: absent
		owed  int
	}{
		{"success", fault.Task{}, "SUCCEEDED", 4, 4},
		{"running", fault.Task{}, "RUNNING", -1, 0},
		{"failure", fault.Task{}, "FAILED", -1, 0},
		{"one failed", fault.Task{Outcome: "partial"}, "SUCCEEDED", 3, 3},
		{"three failed", fault.Task{Outcome: "partial", Failed: 3}, "SUCCEEDED", 1, 1},
		{"more failed than there are", fault.Task{Outcome: "partial", Failed: 9}, "SUCCEEDED", 0, 0},
		{"failed but not partial", fault.Task{Failed: 3}, "SUCCEEDED", 4, 4},
		{"told more", fault.Task{ImageCount: &nine}, "SUCCEEDED", 9, 9},
		{"told none", fault.Task{ImageCount: &none}, "SUCCEEDED", 0, 0},
		{"told though failed", fault.Task{ImageCount: &nine}, "FAILED", 9, 9},
		{"not told", fault.Task{NoImageCount: true}, "SUCCEEDED", -1, 4},
		{"not told of part", fault.Task{NoImageCount: true, Outcome: "partial"}, "SUCCEEDED", -1, 3},
	} {
		task := &Task{Count: 4, Fate: tt.fate}
		told := -1
		if n := task.imageCount(tt.state); n != nil {
			told = *n
		}
		if told != tt.told || task.owed(tt.state) != tt.owed {
			t.Errorf("%s: reports %d and owes %d, want %d and %d", tt.name, told, task.owed(tt.state), tt.told, tt.owed)
		}
	}
}

func TestComplaint(t *testing.T) {
	code, message := (&Task{}).complaint()
	if code != "InternalError" || message == "" {
		t.Errorf("default is %s %q", code, message)
	}
	code, message = (&Task{Fate: fault.Task{Code: "DataInspectionFailed", Message: "no"}}).complaint()
	if code != "DataInspectionFailed" || message != "no" {
		t.Errorf("set is %s %q", code, message)
	}
}
