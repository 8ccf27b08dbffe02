package redisstore

import (
	"context"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// BenchmarkSettle settles tasks by settle.lua, which looks at each: as it is without events, without its library for events, with an event
// for each, and with the thresholds of a quota; and requests by batch.lua, without these and with them. Redis's own time is that of its
// script, without the network.
func BenchmarkSettle(b *testing.B) {
	whole := settleScript
	without := newScript("amounts", "buckets", "named", "kinds", "holds", "aside", "settle")
	for _, tt := range []struct {
		about  string
		script *script
		event  bool
		alert  []int
		batch  bool
	}{
		{"library=no", without, false, nil, false}, {"library=yes", whole, false, nil, false}, {"event=yes", whole, true, nil, false},
		{"alert=yes", whole, false, []int{80, 100}, false},
		{"batch", whole, false, nil, true}, {"batch,alert=yes", whole, false, []int{80, 100}, true},
	} {
		b.Run(tt.about, func(b *testing.B) {
			client, team := limittest.RealRedis(b), limittest.Team(b, "quotas: {images: {day: 1000000}}")
			store := New(client)
			store.Events = outbox.New(client, event.DefaultBounds)
			store.Alerts = func(string) (*teams.Team, []int, []event.Target, bool) {
				return nil, tt.alert, []event.Target{{Address: event.Address{Owner: "search", Hook: "jobs"}}}, true
			}
			settleScript = tt.script
			defer func() { settleScript = whole }()
			charges := make([]*limit.Charge, b.N)
			date := limit.CalendarOf(time.Now())
			for i := range charges {
				h := &limit.Held{ID: requestID(time.Now(), i), Team: "search", Model: "m", Endpoint: "image", Amounts: limit.Amounts{1, 0, 1},
					Day: date.Day, Month: date.Month, Task: !tt.batch}
				charges[i] = &limit.Charge{Held: h, Team: team, Amounts: h.Amounts}
				if tt.event {
					charges[i].Event = ending(h)
				}
				if tt.batch {
					if _, err := store.admit(b.Context(), &limit.Hold{ID: h.ID, Team: team, Model: "m", Endpoint: "image", Amounts: h.Amounts,
						Lease: time.Hour}, &Loan{}, version{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			calls, took := limittest.ScriptTime(b, client)
			b.ResetTimer()
			for _, c := range charges {
				if _, err := store.Settle(context.Background(), c); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			n, end := limittest.ScriptTime(b, client)
			b.ReportMetric((end-took)/(n-calls), "script-µs/op")
		})
	}
}
