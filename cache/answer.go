package cache

import (
	"encoding/json"
	"strings"
	"time"
)

// Status is a task's state in the service's words. Unknown words are kept and count as running, so that a state that the
// service adds later ends no task.
type Status string

// The states of a task. Services send "CANCELED", interface.md writes "CANCELLED"; both are read.
const (
	Pending   Status = "PENDING"
	Suspended Status = "SUSPENDED" // still waiting
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
	Cancelled Status = "CANCELLED"
	Unknown   Status = "UNKNOWN" // the service does not know the task; not a state
)

// Final reports whether the task has ended. The status decides; output.finished never does.
func (s Status) Final() bool {
	switch s {
	case Succeeded, Failed, Canceled, Cancelled:
		return true
	}
	return false
}

// spelled is the state in one spelling.
func (s Status) spelled() Status {
	if s == Cancelled {
		return Canceled
	}
	return s
}

// Runs reports whether the task has not ended, according to the service. An unknown word counts as running.
func (s Status) Runs() bool { return s.rank() > 0 && !s.Final() }

// rank orders states by how far the task has come, to recognise an answer that is older than another.
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

// Answer is the state of a task in one answer of the service.
type Answer struct {
	Task      string // the id; its JSON if it is not a string
	Odd       bool   `json:"-"` // the id is not a string
	Status    Status
	Submitted time.Time // zero: unknown
	Scheduled time.Time
	Ended     time.Time
	// an answer that shows what the stream of the task's creation counted, which ended it; empty: none is kept
	Streamed string `json:",omitzero"`
}

// ReadAnswer reads the service's answer about a task: to a creation, to a query, or one frame of a stream. It is lenient:
// fields that it cannot read are zero. Times in answers have no zone; they are read in the one given.
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

// taskID is a task's id of any JSON type: the task was made, even if its id is not a string.
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
	t, _ := time.ParseInLocation(time.DateTime, strings.TrimSpace(s), zone) // it accepts a fraction, too; an error's time is zero
	return t
}

// passes reports whether the next answer replaces a: its state is at least as far.
func (a *Answer) passes(next Answer) bool {
	return next.Status.rank() > 0 && next.Status.rank() >= a.Status.rank() && !a.Status.Final()
}
