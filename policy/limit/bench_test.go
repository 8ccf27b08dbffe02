package limit

import (
	"strconv"
	"testing"
	"time"

	"sluice/policy"
)

// BenchmarkAdmitSettle is what one request's accounts cost, in memory, and in Redis beside a bare PING.
func BenchmarkAdmitSettle(b *testing.B) {
	teams, err := policy.ParseTeams([]byte("teams:\n  - id: search\n    rates: {requests: {per: 1s, limit: 1000000000}, tokens: {per: 1s, limit: 1000000000}}\n    quotas: {tokens: {day: 1000000000000}, spend: {month: 1000}}\n"))
	if err != nil {
		b.Fatal(err)
	}
	team := teams.List[0]
	turn := func(b *testing.B, accounts admitter) {
		b.ReportAllocs()
		for n := range b.N {
			v, err := accounts.Admit(b.Context(), &Hold{ID: strconv.Itoa(n), Team: team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: Amounts{1, 1000, 0, 500}, Lease: time.Hour})
			if err != nil || v.Held == nil {
				b.Fatal(v, err)
			}
			if _, err := accounts.Settle(b.Context(), &Charge{Held: v.Held, Team: team, Amounts: Amounts{1, 100, 0, 50}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("memory", func(b *testing.B) { turn(b, NewMemory(time.Now)) })
	client := realRedis(b)
	b.Run("redis", func(b *testing.B) { turn(b, NewRedis(client)) })
	b.Run("ping", func(b *testing.B) {
		for range b.N {
			if err := client.Ping(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
