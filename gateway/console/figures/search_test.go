package figures

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/telemetry"
)

// TestSearch: by each id that a client may know; what is foreign is as absent as what is invented.
func TestSearch(t *testing.T) {
	s := newStand(t, false)
	s.claim("search", "task-of-search", false)
	for i, r := range []telemetry.Record{
		{ID: "request-1", UpstreamID: "upstream-1", TraceID: "trace-of-1", Task: "task-of-search", Team: "search", Key: "key-of-search",
			Model: "llm-max", Status: 429, Refusal: "admit/quota"},
		{ID: "request-2", Team: "shop", Status: 200, Model: "gen", UpstreamStatus: 200, UpstreamError: 500, UpstreamCode: "InternalError"},
	} {
		r.Time = s.Now()
		s.recent.Note(&r, r.AppendLine(nil))
		if err := s.recent.Post(t.Context()); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, tt := range []struct {
		about, text string
		p           access.Person
		want        string // kinds and ids
	}{
		{"a request", "request-1", member, "request request-1"},
		{"with spaces around it", " request-1 ", member, "request request-1"},
		{"the beginning of one", "request-", operator, "request request-2, request request-1"},
		{"the id of an answer", "upstream-1", member, "request request-1"},
		{"a trace", "trace-of-1", operator, "request request-1"},
		{"a task, and what is about it", "task-of-search", member, "task task-of-search, request request-1"},
		{"a team", "sho", operator, "team shop"},
		{"a model", "LLM", operator, "model llm-max"},
		{"a page", "money", member, "page Money"},
		{"a page that is not for members", "audit", member, ""},
		{"a foreign request", "request-2", member, ""},
		{"a foreign team", "shop", member, ""},
		{"a foreign model", "gen", member, ""},
		{"an invented id", "request-3", operator, ""},
		{"nothing", "", operator, ""},
		{"more than an id", strings.Repeat("x", 257), operator, ""},
		{"nobody", "request-1", access.Person{}, ""},
	} {
		found, err := s.figures.Search(t.Context(), tt.p, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Kind+" "+f.ID)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", tt.about, diff)
		}
		for _, f := range found {
			if !strings.HasPrefix(f.Path, "/") {
				t.Errorf("%+v", f)
			}
		}
	}
	found, err := s.figures.Search(t.Context(), operator, "request-")
	if titles := names(found, func(f Found) string { return f.Title }); err != nil ||
		!strings.Contains(titles, " gen 200 → 500 InternalError ") || !strings.HasSuffix(titles, " llm-max 429 admit/quota") {
		t.Errorf("%s, %v", titles, err)
	}
	s.claim("shop", "task-of-shop", false)
	if found, err := s.figures.Search(t.Context(), member, "task-of-shop"); err != nil || len(found) != 0 {
		t.Errorf("a foreign task: %+v, %v", found, err)
	}
}
