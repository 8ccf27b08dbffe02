package figures

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/telemetry"
)

// TestRefused: by each dimension, only what the person sees, and failures of the service are no refusals.
func TestRefused(t *testing.T) {
	s := newStand(t, false)
	begun := s.Now().Truncate(time.Minute)
	for _, r := range []telemetry.Record{
		{Team: "search", Status: 429, Refusal: "admit/quota", Model: "llm-max",
			Limit: telemetry.Limit{Name: "images-day", Scope: "team", Unit: "images", Limit: 5}},
		{Team: "search", Status: 400, Refusal: "inspect/rules", Model: "llm-max",
			Broken: []telemetry.BrokenRule{{ID: "text.seed", Refused: true}, {ID: "text.top_p", Refused: true}}},
		{Team: "shop", Status: 429, Refusal: "admit/quota", Model: "gen",
			Limit: telemetry.Limit{Name: "images-day-key", Scope: "key", Of: "k", Unit: "images", Limit: 5}},
		{Team: "shop", Status: 502, Refusal: "forward/unreachable", Model: "gen"},
		{Team: "shop", Status: 500, Model: "gen"},
		{Team: "shop", Status: 200, Model: "gen"},
	} {
		r.Time = s.Now()
		s.recent.Note(&r, r.AppendLine(nil))
		if err := s.recent.Post(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Move(time.Minute)
	}
	query := func(by string) RefusedQuery { return RefusedQuery{By: by, From: begun, To: s.Now()} }
	for _, tt := range []struct {
		p    access.Person
		by   string
		kept int
		want map[string]int64
	}{
		{operator, "reason", 3, map[string]int64{"admit/quota": 2, "inspect/rules": 1}},
		{operator, "limit", 3, map[string]int64{"images-day of team search": 1, "images-day of key k": 1}},
		{operator, "rule", 3, map[string]int64{"text.seed": 1, "text.top_p": 1}},
		{operator, "model", 3, map[string]int64{"llm-max": 2, "gen": 1}},
		{member, "reason", 2, map[string]int64{"admit/quota": 1, "inspect/rules": 1}},
	} {
		got, err := s.figures.Refused(t.Context(), tt.p, query(tt.by))
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for _, g := range got.Groups {
			steps := int64(0)
			for _, n := range g.Steps {
				steps += n
			}
			if counts[g.Name] = g.Count; steps != g.Count || g.Last.IsZero() {
				t.Errorf("%s: %+v", tt.by, g)
			}
		}
		if diff := cmp.Diff(tt.want, counts); diff != "" || got.Kept != tt.kept || got.All != int64(tt.kept) || got.Step != time.Minute {
			t.Errorf("%s: %+v\n%s", tt.by, got, diff)
		}
	}
	failed := query("reason")
	failed.Failed = true
	if got, err := s.figures.Refused(t.Context(), operator, failed); err != nil || got.Kept != 5 || got.All != 5 || len(got.Groups) != 4 {
		t.Errorf("with failures: %+v, %v", got, err)
	}
	foreign := query("reason")
	foreign.Team = "shop"
	if _, err := s.figures.Refused(t.Context(), member, foreign); !errors.Is(err, ErrAbsent) {
		t.Errorf("a foreign team: %v", err)
	}
	if _, err := s.figures.Refused(t.Context(), operator, query("colour")); !errors.Is(err, ErrQuery) {
		t.Errorf("an unknown dimension: %v", err)
	}
}
