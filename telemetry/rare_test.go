package telemetry

import (
	"log/slog"
	"strings"
	"testing"
)

func TestRareCountersBeginWithNothingAndKeepWhatTheyCounted(t *testing.T) {
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tells.Close(t.Context()) })
	m := tells.Metrics
	rare := Rare{
		Alarms: []string{"Arrearage"}, Hooks: []string{"jobs"}, Models: []string{"llm-*"}, House: []Passed{{"spend", "month", 50}},
	}
	rare.Begin(m)
	begun := pageOf(m)
	m.Alarm("Arrearage")
	m.Unpriced("llm-*")
	m.Hook("jobs", "given_up")
	m.HouseAlert(Passed{"spend", "month", 50})
	rare.Begin(m) // the teams file was read again
	counted := pageOf(m)
	for _, series := range []string{
		`sluice_upstream_alarms_total{code="Arrearage"}`, `sluice_requests_unpriced_total{model="llm-*"}`,
		`sluice_hook_deliveries_total{hook="jobs",outcome="given_up"}`, `sluice_house_alerts_total{percent="50",period="month",unit="spend"}`,
	} {
		if !strings.Contains(begun, series+" 0\n") || !strings.Contains(counted, series+" 1\n") {
			t.Errorf("%s does not go from 0 to 1", series)
		}
	}
	rare.Begin(nil) // a nil Metrics measures nothing
}
