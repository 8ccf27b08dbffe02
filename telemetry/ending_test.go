package telemetry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// The data of an ending has one form; what is too long is left out, and the event says so.
func TestAnEndingHasOneForm(t *testing.T) {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write([]byte(`{"usage":{"image_count":2,"size":"1024*1024"}}`))
	submitted := time.Date(2026, 11, 26, 16, 0, 0, 0, time.UTC)
	task := telemetry.Task{
		ID: "t1", Request: "req-1", Model: `a "model"`, Outcome: "succeeded", Images: 2, Usage: reads.End().Usage,
		Cost: telemetry.Cost{Known: true, Amounts: unit.Amounts{1, 0, 2, 80_000_000}, Flag: telemetry.FlagExact}, Submitted: submitted, Ended: submitted.Add(1500 * time.Millisecond),
	}
	const head = `{"task_id":"t1","request_id":"req-1","model":"a \"model\"","outcome":"succeeded","images":2,"usage":{"image_count":2},` +
		`"cost":{"requests":1,"tokens":0,"images":2,"spend":0.08,"flag":"exact"},"submit_time":"2026-11-26T16:00:00.000Z","end_time":"2026-11-26T16:00:01.500Z",`
	long := "https://pictures.example/" + strings.Repeat("a", 1000)
	for _, tt := range []struct {
		about   string
		results []string
		want    string
	}{
		{"none", nil, `"results":[]}`},
		{"two", []string{"https://a/1.png?x=1&y=2", "https://a/\"2\""}, `"results":[{"url":"https://a/1.png?x=1&y=2"},{"url":"https://a/\"2\""}]}`},
		{"too many", strings.Split(strings.Repeat(long+" ", 16), " "), `"truncated":true}`},
	} {
		got := task.Ending(tt.results)
		if string(got) != head+tt.want || !json.Valid(got) {
			t.Errorf("%s: %s", tt.about, got)
		}
	}
	for n := range 20 { // just below the bound, and beyond
		results := []string{strings.Repeat("a", telemetry.LongestEnding-len(head)-len(`"results":[{"url":""}]}`)-10+n)}
		got := task.Ending(results)
		if truncated := strings.Contains(string(got), `"truncated":true`); truncated != (n > 10) || len(got) > telemetry.LongestEnding {
			t.Error(fmt.Sprint(n), truncated, len(got))
		}
	}
	task.Usage, task.Cost = meter.Usage{}, telemetry.Cost{}
	if got := string(task.Ending(nil)); !strings.Contains(got, `"usage":null,"cost":null`) {
		t.Error(got)
	}
}
