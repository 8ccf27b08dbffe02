package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/policy/event"
)

// The data of an ending has one form; what is too long is left out, and the event says so.
func TestAnEndingsDataHasOneForm(t *testing.T) {
	const head = `{"task_id":"t1"`
	long := event.Result{URL: "https://pictures.example/" + strings.Repeat("a", 1000)}
	for _, tt := range []struct {
		about   string
		results []event.Result
		pending bool
		want    string
	}{
		{"none", nil, false, `,"results":[]}`},
		{"two", []event.Result{{URL: "https://a/1.png?x=1&y=2", Stored: "/r/1"}, {URL: "https://a/\"2\""}}, true,
			`,"results":[{"url":"https://a/1.png?x=1&y=2","stored":"/r/1"},{"url":"https://a/\"2\""}],"pending":true}`},
		{"too many", []event.Result{long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long}, true,
			`,"truncated":true,"pending":true}`},
	} {
		got := event.Ended([]byte(head+"}"), tt.results, tt.pending)
		if string(got) != head+tt.want || !json.Valid(got) {
			t.Errorf("%s: %s", tt.about, got)
		}
	}
	for n := range 20 { // just below the bound, and beyond
		url := strings.Repeat("a", event.LongestEnding-len(head)-len(`,"results":[{"url":""}]}`)-10+n)
		got := event.Ended([]byte(head+"}"), []event.Result{{URL: url}}, false)
		if truncated := strings.Contains(string(got), `"truncated":true`); truncated != (n > 10) || len(got) > event.LongestEnding {
			t.Error(n, truncated, len(got))
		}
	}
}
