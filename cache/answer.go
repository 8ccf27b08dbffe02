package cache

import (
	"encoding/json"
	"strings"
	"time"
)

// Status is a task's state in the service's words. Unknown words are kept and count as running, so that a state the
// service adds tomorrow does not end a task today.
type Status string

// The states of a task. "CANCELED" is what services send; interface.md writes "CANCELLED"; both are read.
const (
	Pending   Status = "PENDING"
	Suspended Status = "SUSPENDED" // still waiting
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
	Cancelled Status = "CANCELLED"
	Unknown   Status = "UNKNOWN" // the service does not know the task: no state of it
)

// Final reports whether the task has ended. The status decides; output.finished never does.
func (s Status) Final() bool {
	switch s {
	case Succeeded, Failed, Canceled, Cancelled:
		return true
	}
	return false
}

// Runs reports whether the service says that the task has not ended. A word of tomorrow says so, too.
func (s Status) Runs() bool { return s.rank() > 0 && !s.Final() }

// rank orders states by how far a task has come, so that an answer that was overtaken on its way is recognised.
func (s Status) rank() int {
	switch {
	case s.Final():
		return 3
	case s == Pending || s == Suspended:
		return 1
	case s == Unknown || s == "":
		return 0
	}
	return 2
}

// Answer is what one answer of the service says of a task.
type Answer struct {
	Task      string // the id; where that is no string, the JSON that stands there
	Odd       bool   `json:"-"` // the id is no string
	Status    Status
	Submitted time.Time // zero: not said
	Scheduled time.Time
	Ended     time.Time
}

// ReadAnswer reads a task's answer, of the creation, of a query, or of one frame of a stream. It is lenient: what it
// cannot read is left zero. Times carry no zone in the answer and are read in the one given.
func ReadAnswer(body []byte, zone *time.Location) Answer {
	var wire struct {
		Output struct {
			Task      taskID `json:"task_id"`
			Status    Status `json:"task_status"`
			Submitted string `json:"submit_time"`
			Scheduled string `json:"scheduled_time"`
			Ended     string `json:"end_time"`
		} `json:"output"`
	}
	if err := json.Unmarshal(body, &wire); err != nil && wire.Output.Task.text == "" {
		return Answer{}
	}
	out := wire.Output
	return Answer{
		Task: out.Task.text, Odd: out.Task.odd, Status: out.Status,
		Submitted: readTime(out.Submitted, zone), Scheduled: readTime(out.Scheduled, zone), Ended: readTime(out.Ended, zone),
	}
}

// taskID is a task's id of whatever type: one that is no string is an id all the same, of a task that was made.
type taskID struct {
	text string
	odd  bool
}

func (t *taskID) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, &t.text)
	}
	t.text, t.odd = string(b), true
	return nil
}

// readTime reads YYYY-MM-DD HH:MM:SS.mmm; the milliseconds may be missing.
func readTime(s string, zone *time.Location) time.Time {
	t, err := time.ParseInLocation(time.DateTime, strings.TrimSpace(s), zone) // a fraction is accepted unasked
	if err != nil {
		return time.Time{}
	}
	return t
}
