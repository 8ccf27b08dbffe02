package pages

import (
	"time"

	"sluice/policy/limit"
)

// Now is the state of the gateway at one moment.
type Now struct {
	At       time.Time
	Step     time.Duration // of Steps
	Steps    []Step        // the oldest first, without gaps; the last one may be under way
	Overhead time.Duration // Sluice's own time a request, mean of the last five minutes
	Rate     float64       // requests a second, mean of the last minute
	Refused  int64         // requests refused today
	Today    Use
	Faults   []Fault
	Teams    []TeamLine // the ten that used most today, by spend, then requests
	Known    int        // how many teams the person sees
}

// Step is the traffic of one step of time.
type Step struct {
	At                        time.Time
	Requests, Refused, Failed int64 // Requests includes the others; Failed are errors of the service
}

// Fault is one line of /readyz?verbose that is not ok.
type Fault struct{ Name, Text string }

// RequestFilter chooses requests. Empty fields choose all.
type RequestFilter struct {
	Team    string
	Status  int    // HTTP status; 0: any
	Refusal string // stage/reason, or a stage; "any": every refused request
	Model   string
	From    time.Time // that came then or later
	After   string    // cursor of the next page
}

// RequestList is a page of requests, the newest first, at most 100.
type RequestList struct {
	Requests []RequestLine
	Next     string // cursor; empty: no more
}

// RequestLine is a request as a row of the list.
type RequestLine struct {
	ID, Team, Model, Refusal string
	At                       time.Time
	Status                   int
	Tokens, Images           int64 // used, as the answer said
	Cost                     int64 // in 10⁻⁹ of the currency
	Duration, Overhead       time.Duration
}

// Request is one request with its log line.
type Request struct {
	RequestLine
	Task, TraceID string
	Line          []Member // in the order of the log
}

// Member is a member of a log line; Value is JSON.
type Member struct{ Name, Value string }

// TaskFilter chooses tasks. Empty fields choose all.
type TaskFilter struct {
	Team, Model, State string
	After              string // cursor of the next page
}

// TaskList is a page of tasks, the newest first, at most 100.
type TaskList struct {
	Tasks []TaskLine
	Next  string // cursor; empty: no more
}

// TaskLine is a task as a row of the list.
type TaskLine struct {
	Team, ID, Model          string
	State                    string // in the service's words: PENDING, RUNNING, SUCCEEDED
	Open                     bool
	Created                  time.Time
	Submitted, Begun, Ended  time.Time // as the service says; zero: not known
	PollsServed, QueriesSent int64
	Cost                     limit.Amounts // settled if it is not open, else held
}

// Task is one task.
type Task struct {
	TaskLine
	Key, Request, TraceID string
	Held                  limit.Amounts
	Estimated             bool     // the service did not count the pictures: Cost is the amount that was held
	SettledBy             string   // poll, finisher, stream, lease; empty: not settled
	Pictures              []string // addresses at the service, while they live
	Message               string   // the service's error; empty: none
}
