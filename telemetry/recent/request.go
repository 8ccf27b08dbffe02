package recent

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Request is a finished request as its log line tells it.
type Request struct {
	At       time.Time // when it arrived, in UTC
	ID       string
	Team     string // empty: it had no valid key
	Key      string // public id
	Method   string
	Route    string // empty: unknown path
	Endpoint string
	Kind     string
	Model    string
	Task     string // that it made or concerns
	Status   int    // 499: the client left first
	Refusal  string // stage/reason; empty: Sluice did not refuse it
	Cache    string // of a poll: where its answer came from
	Front    string // openai, or empty
	Upstream int    // the service's status; 0: none

	Usage    map[string]float64 // as the answer reported it; nil: it did not
	Cost     Cost               // what it was charged
	Duration time.Duration
	Overhead time.Duration // Sluice's own part of Duration

	Line string // the whole log line, in JSON
}

// Cost is what a request was charged.
type Cost struct {
	Known  bool   // false: unknown, or charged later
	Tokens int64  // tokens
	Images int64  // images
	Spend  int64  // 10⁻⁹ of the currency
	Flag   string // how the amount came about, as the log says it
}

// logLine has the members of a log line that a Request shows.
type logLine struct {
	Time     time.Time          `json:"time"`
	ID       string             `json:"id"`
	Team     string             `json:"team"`
	Key      string             `json:"key"`
	Method   string             `json:"method"`
	Route    string             `json:"route"`
	Endpoint string             `json:"endpoint"`
	Kind     string             `json:"kind"`
	Model    string             `json:"model"`
	Task     string             `json:"task"`
	Status   int                `json:"status"`
	Refusal  string             `json:"refusal"`
	Cache    string             `json:"cache"`
	Front    string             `json:"front"`
	Upstream int                `json:"upstream_status"`
	Usage    map[string]float64 `json:"usage"`
	Duration float64            `json:"dur_ms"`
	Overhead float64            `json:"overhead_ms"`
	Cost     *struct {
		Tokens int64   `json:"tokens"`
		Images int64   `json:"images"`
		Spend  float64 `json:"spend"`
		Flag   string  `json:"flag"`
	} `json:"cost"`
}

// request reads a line.
func (l Line) request() (Request, error) {
	// An older replica calls the member tags. Inside a value the quotes are escaped, so nothing else is replaced.
	l.Text = strings.Replace(l.Text, `,"tags":"`, `,"tag":"`, 1)
	var in logLine
	if err := json.Unmarshal([]byte(l.Text), &in); err != nil {
		return Request{}, fmt.Errorf("a kept log line cannot be read: %w", err)
	}
	r := Request{
		At: in.Time, ID: in.ID, Team: in.Team, Key: in.Key, Method: in.Method, Route: in.Route, Endpoint: in.Endpoint, Kind: in.Kind,
		Model: in.Model, Task: in.Task, Status: in.Status, Refusal: in.Refusal, Cache: in.Cache, Front: in.Front, Upstream: in.Upstream,
		Usage: in.Usage, Duration: milliseconds(in.Duration), Overhead: milliseconds(in.Overhead), Line: l.Text,
	}
	if c := in.Cost; c != nil {
		r.Cost = Cost{Known: true, Tokens: c.Tokens, Images: c.Images, Spend: int64(math.Round(c.Spend * 1e9)), Flag: c.Flag}
	}
	return r, nil
}

func milliseconds(n float64) time.Duration {
	return time.Duration(math.Round(n*1000)) * time.Microsecond
}
