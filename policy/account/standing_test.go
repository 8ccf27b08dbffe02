package account

import (
	"testing"
	"time"
)

// The line has all that decides, and a model's name cannot end it.
func TestLineOfAStanding(t *testing.T) {
	at := time.Date(2026, 11, 26, 8, 20, 0, 0, time.FixedZone("UTC+8", 8*3600))
	for _, tt := range []struct {
		standing Standing
		ill      bool
		want     string
	}{
		{Standing{State: OK, Weight: 1, Key: "…f00d"}, false, "ok; weight 1, 0 in flight, key …f00d"},
		{Standing{State: Draining, InFlight: 2, Key: "…"}, false, "draining; weight 0, 2 in flight, key …"},
		{Standing{State: Out, Since: at, Why: "Arrearage", Weight: 3, Key: "…f00d"}, true,
			"out since 2026-11-26T00:20:00Z: Arrearage; weight 3, 0 in flight, key …f00d"},
		{
			Standing{State: Cooling, Since: at, Why: "Throttling", Weight: 1, Key: "…",
				Cooling: []Rest{{"a", at.Add(time.Second)}, {"b\nreadyz: ok", at.Add(time.Minute)}}},
			true, `cooling since 2026-11-26T00:20:00Z: Throttling; "a" until 2026-11-26T00:20:01Z; "b\nreadyz: ok" until 2026-11-26T00:21:00Z; ` +
				`weight 1, 0 in flight, key …`,
		},
	} {
		if got := tt.standing.Line(); got != tt.want || tt.standing.IsIll() != tt.ill {
			t.Errorf("%s, ill %v; want %s", got, tt.standing.IsIll(), tt.want)
		}
	}
}
