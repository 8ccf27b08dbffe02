package console

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/why"
	"sluice/policy/event"
)

// TestWhyOverHTTP: what the client got, whose fault it is and what to do; a foreign request is as absent as an invented one.
func TestWhyOverHTTP(t *testing.T) {
	w := newWorld(t)
	var got Explained
	w.expect(viewer, "GET /requests/r1", "", http.StatusOK, "").into(t, &got)
	if got.Sentence != "Team ads has 1 left." || got.Blame != why.Limit || got.Advice == "" ||
		string(got.Request) != `{"id":"r1","status":429}` {
		t.Errorf("%+v", got)
	}
	foreign, invented := w.expect(member, "GET /requests/r1", "", http.StatusNotFound, "missing request"),
		w.expect(member, "GET /requests/r2", "", http.StatusNotFound, "missing request")
	if foreign.body != invented.body {
		t.Errorf("%s\n%s", foreign.body, invented.body)
	}
	w.traffic.err = errors.New("away")
	w.expect(operator, "GET /requests/r1", "", http.StatusServiceUnavailable, "away")
}

func TestRefusalsOverHTTP(t *testing.T) {
	w := newWorld(t)
	var got RefusalList
	w.expect(viewer, "GET /refusals?by=limit&from=2026-11-22T11:30:00Z", "", http.StatusOK, "").into(t, &got)
	if got.By != "limit" || got.Step != 60 || got.Kept != 2 || got.All != 7 || len(got.Data) != 1 || got.Data[0].Of != "admit/rate" {
		t.Errorf("%+v", got)
	}
	if q := w.traffic.refused[0]; q.By != "limit" || !q.To.Equal(noon) || q.To.Sub(q.From) != 30*time.Minute {
		t.Errorf("asked for %+v", q)
	}
	for query, want := range map[string]string{"?by=colour": "invalid by", "?from=x": "invalid from", "?to=x": "invalid to",
		"?from=2026-11-19T00:00:00Z": "invalid from", "?to=2026-11-23T00:00:00Z": "invalid from"} {
		w.expect(viewer, "GET /refusals"+query, "", http.StatusBadRequest, want)
	}
	w.expect(member, "GET /refusals?team=ads", "", http.StatusNotFound, "missing team")
}

func TestDeliveriesOverHTTP(t *testing.T) {
	w := newWorld(t)
	var got event.Report
	a := w.expect(viewer, "GET /events?team=ads&hook=jobs&state=waiting", "", http.StatusOK, "")
	if a.into(t, &got); len(got.Hooks) != 1 || !got.Hooks[0].Oldest.Equal(noon) || len(got.Data) != 1 || got.Data[0].State != event.Waiting ||
		strings.Contains(a.body, "canary") {
		t.Errorf("%s", a.body)
	}
	one := got.Data[0].Event
	if w.expect(viewer, "GET /events?team=ads&event="+one, "", http.StatusOK, "").into(t, &got); len(got.Data) != 1 {
		t.Errorf("%+v", got)
	}
	if a := w.expect(viewer, "GET /events?hook=other", "", http.StatusOK, ""); strings.TrimSpace(a.body) != `{"hooks":[],"data":[]}` {
		t.Error(a.body)
	}
	w.expect(viewer, "GET /events?team=ads&state=late", "", http.StatusBadRequest, "invalid state")
	w.expect(viewer, "GET /events?team=shop&event="+one, "", http.StatusBadRequest, "invalid event")
	foreign, invented := w.expect(member, "GET /events?team=ads", "", http.StatusNotFound, "missing team"),
		w.expect(member, "GET /events?team=adz", "", http.StatusNotFound, "missing team")
	if foreign.body != invented.body {
		t.Errorf("%s\n%s", foreign.body, invented.body)
	}
	w.traffic.err = errors.New("away")
	w.expect(viewer, "GET /events?team=ads", "", http.StatusServiceUnavailable, "away")
}

func TestSearchOverHTTP(t *testing.T) {
	w := newWorld(t)
	if a := w.expect(viewer, "GET /search?q=r1", "", http.StatusOK, ""); strings.TrimSpace(a.body) != `[{"kind":"request","id":"r1",`+
		`"title":"of team ads","path":"/requests/r1"}]` {
		t.Error(a.body)
	}
	foreign, invented := w.expect(member, "GET /search?q=r1", "", http.StatusOK, ""),
		w.expect(member, "GET /search?q=r2", "", http.StatusOK, "")
	if strings.TrimSpace(foreign.body) != "[]" || foreign.body != invented.body {
		t.Errorf("%s\n%s", foreign.body, invented.body)
	}
	w.expect(viewer, "GET /search", "", http.StatusBadRequest, "invalid q")
}
