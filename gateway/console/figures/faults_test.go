package figures

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/pulse"
	"sluice/telemetry/recent"
)

// told are the faults as words, without those of the process.
func (s *stand) told(p access.Person) string {
	var words []string
	for _, f := range s.figures.FaultList(s.Context(), p) {
		if f.Kind != "process" {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s: %s (%d of %d)", f.Kind, f.Subject, f.Text, f.Count, f.Of)))
		}
	}
	return strings.Join(words, "; ")
}

func (s *stand) notes(records ...telemetry.Record) {
	s.Helper()
	for _, r := range records {
		r.Time = s.Now()
		s.recent.Note(&r, r.AppendLine(nil))
		s.Move(time.Second)
	}
	if err := s.recent.Post(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// TestFaults: the service's from the traffic of those that a person sees, a team that is refused each time, and a quota that is nearly
// used.
func TestFaults(t *testing.T) {
	s := newStand(t, false)
	if got := s.told(operator); got != "" {
		t.Errorf("at first: %s", got)
	}
	down := telemetry.Record{Team: "shop", Status: 502, Refusal: "forward/unreachable", Endpoint: "text"}
	s.notes(down, down, down)
	if got := s.told(operator); got != "service : 3 of the last 3 requests failed, could not be reached (3 of 3)" {
		t.Errorf("a service that is down: %s", got)
	}
	if got := s.told(member); got != "" {
		t.Errorf("of another team: %s", got)
	}
	refused := telemetry.Record{Team: "search", Status: 429, Refusal: "admit/quota", Endpoint: "text"}
	for range 9 {
		s.notes(refused)
	}
	if got := s.told(member); got != "" {
		t.Errorf("nine refusals: %s", got)
	}
	s.notes(refused)
	s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, 960, 0, 5}) // of 1,000 a day
	want := "refused search: each of its last 10 requests was refused, the last by admit/quota (10 of 10); limit search: 96 % of its " +
		"limit tokens-day are used or held (96 of 100)"
	if got := s.told(member); got != want {
		t.Errorf("a member: %s", got)
	}
	s.notes(telemetry.Record{Team: "search", Status: 200, UpstreamStatus: 200, Endpoint: "text"})
	if got := s.told(member); strings.Contains(got, "refused search") {
		t.Errorf("one was served: %s", got)
	}
	s.file.Team("search").Shadow = true
	if got := s.told(member); got != "" {
		t.Errorf("in shadow mode no limit refuses anything: %s", got)
	}
}

// TestErrorsInsideStreamsAreFaults: the service answers each request with status 200 and then with an error.
func TestErrorsInsideStreamsAreFaults(t *testing.T) {
	s := newStand(t, false)
	down := telemetry.Record{Team: "shop", Status: 200, UpstreamStatus: 200, UpstreamError: 500, Endpoint: "text"}
	s.notes(down, down, down)
	if got := s.told(operator); got != "service : 3 of the last 3 requests failed, answered 500 (3 of 3)" {
		t.Error(got)
	}
}

// deaf is a store that is away.
type deaf struct{ Recent }

func (deaf) Requests(context.Context, recent.Filter) (recent.Page, error) {
	return recent.Page{}, errors.New("away")
}

func (deaf) Latencies(context.Context, recent.By, time.Time, time.Time) ([]recent.Latency, error) {
	return nil, errors.New("away")
}

// TestFaultsWithoutRedis: what this replica knows.
func TestFaultsWithoutRedis(t *testing.T) {
	s := newStand(t, false)
	s.lately = deaf{s.lately}
	s.start()
	s.figures.Pulse = func(time.Time) (pulse.Fault, bool) {
		return pulse.Fault{Failed: 25, Of: 25, Text: "25 of the last 25 requests failed", Since: s.Now()}, true
	}
	s.figures.Hooks = func() map[string]time.Duration {
		return map[string]time.Duration{"jobs": time.Hour, "fine": time.Second}
	}
	if got, want := s.told(operator), "service : 25 of the last 25 requests failed (25 of 25); hook jobs: does not take its events; the "+
		"oldest waits for 1h0m0s (0 of 0)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := s.told(member); got != "" {
		t.Errorf("a member: %s", got)
	}
}

// TestSlowModels: a model whose service takes three times as long as usual, once enough of its requests did.
func TestSlowModels(t *testing.T) {
	s := newStand(t, false)
	answered := func(n int, took time.Duration) {
		for range n {
			s.notes(telemetry.Record{Team: "shop", Label: "llm-max", Endpoint: "text", Status: 200, UpstreamStatus: 200, Service: took})
		}
	}
	answered(40, time.Second)
	s.Move(time.Hour)
	answered(19, 4*time.Second)
	if got := s.told(operator); got != "" {
		t.Errorf("nineteen: %s", got)
	}
	s.Move(slowEvery)
	answered(1, 4*time.Second)
	if got := s.told(operator); !strings.HasPrefix(got, "latency llm-max: 95 of 100 requests take the service up to ") {
		t.Errorf("twenty: %s", got)
	}
	if got := s.told(member); got != "" {
		t.Errorf("a member: %s", got)
	}
	begun := s.Now()
	for range 16 { // for eight hours: far more requests than before
		answered(200, 4*time.Second)
		s.Move(30*time.Minute - 200*time.Second)
		answered(20, 4*time.Second)
		s.Move(slowEvery)
		list := s.figures.FaultList(t.Context(), operator)
		if list[0].Kind != "latency" || begun.Sub(*list[0].Since).Abs() > 10*time.Minute || !strings.HasSuffix(list[0].Text, "usually 970ms") {
			t.Fatalf("%v after it began: %+v", s.Now().Sub(begun), list[0])
		}
	}
	for range 2 {
		answered(200, time.Second)
		s.Move(10 * time.Minute)
	}
	if got := s.told(operator); got != "" {
		t.Errorf("as fast as usual again: %s", got)
	}
}

// TestWhatNobodyFeelsIsNotSlow: some milliseconds in place of one are a busy machine; a second is not, and what is usual is more than none.
func TestWhatNobodyFeelsIsNotSlow(t *testing.T) {
	s := newStand(t, false)
	answered := func(took time.Duration) {
		for range 40 {
			s.notes(telemetry.Record{Team: "shop", Label: "llm-max", Endpoint: "text", Status: 200, UpstreamStatus: 200, Service: took})
		}
	}
	answered(100 * time.Microsecond)
	s.Move(time.Hour)
	answered(80 * time.Millisecond)
	if got := s.told(operator); got != "" {
		t.Errorf("80 ms: %s", got)
	}
	s.Move(slowEvery)
	answered(time.Second)
	if got := s.told(operator); !strings.Contains(got, ", usually 1ms") {
		t.Errorf("a second: %s", got)
	}
}

// TestAFaultBeganOnce: since when does not depend on how many requests there were, nor on the polls beside them.
func TestAFaultBeganOnce(t *testing.T) {
	s := newStand(t, false)
	s.Move(time.Minute - time.Duration(s.Now().UnixNano())%time.Minute)
	down, refused := telemetry.Record{Team: "shop", Status: 502, Refusal: "forward/unreachable", Endpoint: "text"},
		telemetry.Record{Team: "search", Status: 429, Refusal: "admit/rate", Endpoint: "text"}
	fine, poll := telemetry.Record{Team: "shop", Status: 200, UpstreamStatus: 200, Endpoint: "text"},
		telemetry.Record{Team: "shop", Status: 200, Endpoint: "tasks", Method: "GET"}
	all := func(n int, records ...telemetry.Record) {
		for range n {
			for _, r := range records {
				r.Time = s.Now()
				s.recent.Note(&r, r.AppendLine(nil))
			}
			s.Move(100 * time.Millisecond)
		}
		if err := s.recent.Post(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all(600, fine)
	begun := s.Now()
	for range 20 { // two of three fail
		all(300, down, down, fine, refused, poll, poll, poll, poll, poll, poll, poll, poll, poll, poll, poll, poll)
		for _, f := range s.figures.FaultList(t.Context(), operator)[:2] {
			if !f.Since.Equal(begun) {
				t.Fatalf("%v after it began: %s since %v", s.Now().Sub(begun), f.Text, f.Since.Sub(begun))
			}
			if f.Kind == "refused" && f.Count != int64(s.Now().Sub(begun)/(100*time.Millisecond)) {
				t.Fatalf("%v after it began: %s", s.Now().Sub(begun), f.Text)
			}
		}
	}
}
