package limit

import (
	"sluice/policy"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"strconv"
	"testing"
	"time"
)

// BenchmarkAdmitSettle measures the accounts' work for one request in memory, with the limits of its team alone and with a house beside
// them.
func BenchmarkAdmitSettle(b *testing.B) {
	team := limittest.Team(b, "rates: {requests: {per: 1s, limit: 1000000000}, tokens: {per: 1s, limit: 1000000000}}",
		"quotas: {tokens: {day: 1000000000000}, spend: {month: 1000000}}")
	housed, err := teams.Parse([]byte("house: {quotas: {tokens: {day: 1000000000000000}, spend: {month: 1000000}}}\nteams: []\n"))
	if err != nil {
		b.Fatal(err)
	}
	for name, file := range map[string]*teams.File{"team": {}, "house": housed} {
		b.Run(name, func(b *testing.B) {
			accounts, outsides := NewMemory(time.Now), Outsides{}
			b.ReportAllocs()
			for n := range b.N {
				v, err := accounts.Admit(b.Context(), &Hold{
					ID: "6cf4a6e5-9d2c-4c55-8a1e-" + strconv.Itoa(n), Team: team, Model: "llm-max", Endpoint: policy.EndpointText,
					Outside: outsides.For(file, nil, "llm-max"), Amounts: Amounts{1, 1000, 0, 500}, Lease: 12 * time.Minute,
				})
				if err != nil || v.Held == nil {
					b.Fatal(v, err)
				}
				accounts.SettleLater(&Charge{Held: v.Held, Team: team, Amounts: Amounts{1, 100, 0, 50}})
			}
		})
	}
}
