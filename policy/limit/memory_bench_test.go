package limit

import (
	"sluice/policy"
	"sluice/policy/limit/limittest"
	"strconv"
	"testing"
	"time"
)

// BenchmarkAdmitSettle measures the accounts' work for one request in memory.
func BenchmarkAdmitSettle(b *testing.B) {
	team := limittest.Team(b, "rates: {requests: {per: 1s, limit: 1000000000}, tokens: {per: 1s, limit: 1000000000}}", "quotas: {tokens: {day: 1000000000000}, spend: {month: 1000000}}")
	accounts := NewMemory(time.Now)
	b.ReportAllocs()
	for n := range b.N {
		v, err := accounts.Admit(b.Context(), &Hold{
			ID: "6cf4a6e5-9d2c-4c55-8a1e-" + strconv.Itoa(n), Team: team, Model: "llm-max", Endpoint: policy.EndpointText,
			Amounts: Amounts{1, 1000, 0, 500}, Lease: 12 * time.Minute,
		})
		if err != nil || v.Held == nil {
			b.Fatal(v, err)
		}
		accounts.SettleLater(&Charge{Held: v.Held, Team: team, Amounts: Amounts{1, 100, 0, 50}})
	}
}
