package hooks

import (
	"flag"
	"os"
	"strings"
	"testing"

	"sluice/policy/event"
	"sluice/policy/teams"
)

var update = flag.Bool("update", false, "write the golden table of sentences")

// Each type has a sentence; what an event lacks is left out; nothing of a text is a link or a mention.
func TestSentences(t *testing.T) {
	var got strings.Builder
	for _, tt := range []struct {
		of   event.Type
		team string
		data string
	}{
		{event.TaskSucceeded, "search", `{"task_id":"t1","model":"gen2.6-image","images":2,"cost":{"requests":1,"spend":0.4}}`},
		{event.TaskFailed, "search", `{"task_id":"t1","model":"gen2.6-image","images":0}`},
		{event.TaskCancelled, "search", `{"task_id":"t1"}`},
		{event.TaskUnheard, "search", `{"task_id":"t1","cost":{"spend":"0.4"}}`},
		{event.TaskStored, "search", `{"task_id":"t1"}`},
		{event.QuotaReached, "search", `{"scope":"team","unit":"spend","period":"day","threshold":80,"used":40.1,"left":9.9,"limit":50}`},
		{event.QuotaReached, teams.HouseID, `{"scope":"house","unit":"images","period":"month","threshold":100,"used":400000,"left":0,` +
			`"limit":400000}`},
		{event.QuotaReached, "search", `{"scope":"key","id":"8yhndrgynll4","unit":"requests","period":"day","threshold":100}`},
		{event.QuotaReached, "search", `{"scope":"tag","id":"alpha","unit":"images","period":"day","threshold":50}`},
		{event.QuotaReached, "search", `{"scope":"tag","id":"","unit":"images","period":"day","threshold":50}`},
		{event.QuotaReached, teams.AccountQuotasID("second"), `{"scope":"account","id":"second","unit":"images","period":"day","threshold":50}`},
		{event.RequestSettled, "search", `{"model":"llm-max","cost":{"spend":0.0012}}`},
		{event.RateStarved, "search", `{}`},
		{event.RateStarved, "search", `{"minutes":5,"requests":50,"refused":30,"reason":"admit/rate"}`},
		{event.KeyExpiring, "search", `{"key":"8yhndrgynll4","expires":"2027-06-30T00:00:00Z"}`},
		{event.AccountOut, event.Operators, `{"account":"main","reason":"the key is invalid","since":"2026-11-26T16:00:00.000Z"}`},
		{event.AccountBack, event.Operators, `{"account":"main"}`},
		{event.TeamsFaulty, event.Operators, `{"fault":"line 3: <!channel> & <https://evil.example|click>\n\nmore"}`},
		{event.TeamsFaulty, event.Operators, `{"source":"file","fault":"SLUICE_TEAMS_FILE: line 3"}`},
		{event.TeamsFaulty, event.Operators, `{"source":"directory","fault":"version 4"}`},
		{event.TeamsFaulty, event.Operators, `[]`},
		{event.Ping, "search", `{}`},
		{"task.new", "search", `{}`},
	} {
		got.WriteString(string(tt.of) + " " + tt.data + "\n  " + Sentence(&event.Event{Type: tt.of, Team: tt.team, Data: []byte(tt.data)}) + "\n")
	}
	const golden = "testdata/sentences.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got.String() {
		t.Errorf("%v\n%s", err, got.String())
	}
}
