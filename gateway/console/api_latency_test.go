package console

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestLatencyOverHTTP(t *testing.T) {
	w := newWorld(t)
	const want = `[{"model":"llm-max","what":"service","start":"2026-11-22T12:00:00Z","count":7,"p50_ms":812.3,"p95_ms":2000,"p99_ms":3000}]`
	if a := w.expect(viewer, "GET /latency?from=2026-11-22T10:00:00Z&step=1h", "", http.StatusOK, ""); strings.TrimSpace(a.body) != want {
		t.Error(a.body)
	}
	if a := w.expect(operator, "GET /latency?by=endpoint", "", http.StatusOK, ""); !strings.Contains(a.body, `"endpoint":"llm-max"`) {
		t.Error(a.body)
	}
	if q := w.traffic.latency[0]; q.By != "model" || q.Step != time.Hour || !q.To.Equal(noon) || q.To.Sub(q.From) != 2*time.Hour {
		t.Errorf("%+v", q)
	}
	for query, want := range map[string]string{"?by=team": "invalid by", "?step=1m": "invalid step", "?step=0": "invalid step",
		"?step=x": "invalid step", "?from=x": "invalid from"} {
		w.expect(viewer, "GET /latency"+query, "", http.StatusBadRequest, want)
	}
	w.expect(member, "GET /latency", "", http.StatusForbidden, "forbidden")
}

func TestFaultsOverHTTP(t *testing.T) {
	w := newWorld(t)
	const want = `[{"kind":"service","subject":"","text":"25 of the last 25 requests failed","since":"2026-11-22T12:00:00Z","count":25,` +
		`"of":25},` +
		`{"kind":"process","subject":"redis","text":"away","since":null,"count":0,"of":0}]`
	if a := w.expect(viewer, "GET /faults", "", http.StatusOK, ""); strings.TrimSpace(a.body) != want {
		t.Error(a.body)
	}
	if a := w.expect(member, "GET /faults", "", http.StatusOK, ""); strings.TrimSpace(a.body) != "[]" {
		t.Error(a.body)
	}
}

// TestLimitsThatAreNear: the nearest of each team, from a percentage on.
func TestLimitsThatAreNear(t *testing.T) {
	w := newWorld(t)
	const want = `[{"team":"ads","limit":"spend-day","percent":90,"used":4.5,"held":0,"most":5}]`
	if a := w.expect(viewer, "GET /limits", "", http.StatusOK, ""); strings.TrimSpace(a.body) != want {
		t.Error(a.body)
	}
	if a := w.expect(viewer, "GET /limits?percent=91", "", http.StatusOK, ""); strings.TrimSpace(a.body) != "[]" {
		t.Error(a.body)
	}
	w.expect(viewer, "GET /limits?percent=many", "", http.StatusBadRequest, "invalid percent")
}
