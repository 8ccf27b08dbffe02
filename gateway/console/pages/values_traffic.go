package pages

import (
	"time"
)

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
