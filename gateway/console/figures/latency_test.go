package figures

import (
	"errors"
	"math"
	"testing"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// TestLatency: percentiles of the whole span, and of each step, for people who see all teams.
func TestLatency(t *testing.T) {
	s := newStand(t, false)
	begun := s.Now().Truncate(time.Hour)
	s.Move(time.Hour - s.Now().Sub(begun))
	begun = s.Now()
	for i := range 100 {
		r := telemetry.Record{Time: s.Now(), Team: "search", Label: "llm-max", Endpoint: "text", Status: 200, UpstreamStatus: 200,
			Service: time.Duration(i+1) * time.Second, Overhead: time.Millisecond}
		s.recent.Note(&r, r.AppendLine(nil))
		s.Move(30 * time.Second) // 50 minutes in all
	}
	if err := s.recent.Post(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := LatencyQuery{By: recent.ByModel, From: begun, To: s.Now()}
	rows, err := s.figures.Latency(t.Context(), operator, q)
	if err != nil || len(rows) != 3 || rows[0].What != recent.Service || rows[0].Count != 100 || !rows[0].Start.Equal(begun) {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, p := range []struct{ got, want time.Duration }{{rows[0].P50, 50 * time.Second}, {rows[0].P95, 95 * time.Second},
		{rows[0].P99, 99 * time.Second}, {rows[2].P50, time.Millisecond}} {
		if math.Abs(float64(p.got-p.want)) > 0.05*float64(p.want) {
			t.Errorf("%v, want %v", p.got, p.want)
		}
	}
	q.By, q.Step = recent.ByEndpoint, 10*time.Minute
	if rows, err = s.figures.Latency(t.Context(), operator, q); err != nil || len(rows) != 15 || rows[0].Of != "text" ||
		rows[0].Count != 20 || !rows[1].Start.Equal(begun.Add(10*time.Minute)) {
		t.Errorf("%d: %+v, %v", len(rows), rows, err)
	}
	if _, err := s.figures.Latency(t.Context(), member, q); !errors.Is(err, ErrAbsent) {
		t.Errorf("a member: %v", err)
	}
	for _, bad := range []LatencyQuery{{By: "team", From: q.From, To: q.To}, {By: q.By, From: q.To, To: q.From},
		{By: q.By, From: q.From, To: q.To, Step: time.Minute}} {
		if _, err := s.figures.Latency(t.Context(), operator, bad); !errors.Is(err, ErrQuery) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
