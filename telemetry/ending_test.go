package telemetry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// What is told of an ending has one form.
func TestAnEndingHasOneForm(t *testing.T) {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write([]byte(`{"usage":{"image_count":2,"size":"1024*1024"}}`))
	submitted := time.Date(2026, 11, 26, 16, 0, 0, 0, time.UTC)
	task := telemetry.Task{
		ID: "t1", Request: "req-1", Model: `a "model"`, Outcome: "succeeded", Images: 2, Usage: reads.End().Usage,
		Cost: telemetry.Cost{Known: true, Amounts: unit.Amounts{1, 0, 2, 80_000_000}, Flag: telemetry.FlagExact}, Submitted: submitted,
		Ended: submitted.Add(1500 * time.Millisecond),
	}
	const want = `{"task_id":"t1","request_id":"req-1","model":"a \"model\"","outcome":"succeeded","images":2,"usage":{"image_count":2},` +
		`"cost":{"requests":1,"tokens":0,"images":2,"spend":0.08,"flag":"exact"},"submit_time":"2026-11-26T16:00:00.000Z",` +
		`"end_time":"2026-11-26T16:00:01.500Z"}`
	if got := task.Ending(); string(got) != want || !json.Valid(got) {
		t.Errorf("%s", got)
	}
	task.Usage, task.Cost = meter.Usage{}, telemetry.Cost{}
	if got := string(task.Ending()); !strings.Contains(got, `"usage":null,"cost":null`) {
		t.Error(got)
	}
}
