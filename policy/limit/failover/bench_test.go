package failover

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
)

const benchTeam = "    rates: {requests: {per: 1s, limit: 1000000000}, tokens: {per: 1s, limit: 1000000000}}\n    quotas: {tokens: " +
	"{day: 1000000000000}, spend: {month: 1000000}}\n"

func benchTeams(b *testing.B, n int) []*teams.Team {
	doc := "teams:\n"
	for i := range n {
		doc += fmt.Sprintf("  - id: team%d\n%s", i, benchTeam)
	}
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		b.Fatal(err)
	}
	return file.List
}

func benchHold(n int, team *teams.Team) *limit.Hold {
	return &limit.Hold{
		ID: "6cf4a6e5-9d2c-4c55-8a1e-" + strconv.Itoa(n), Team: team, Model: "llm-max", Endpoint: policy.EndpointText,
		Amounts: limit.Amounts{1, 1000, 0, 500}, Lease: 12 * time.Minute,
	}
}

// BenchmarkAdmissionBesidePing is how long one caller waits for an admission in Redis, over TCP, beside a bare PING to the
// same server, in turn: medians and the 99th of 100.
func BenchmarkAdmissionBesidePing(b *testing.B) {
	client := limittest.TCPRedis(b)
	team := benchTeams(b, 1)[0]
	accounts := New(Config{Store: redisstore.New(client), Timeout: time.Second, Replicas: 1, Now: time.Now})
	b.Cleanup(func() { _ = accounts.Close(b.Context()) })
	var pings, admissions []time.Duration
	for n := range b.N {
		begun := time.Now()
		if err := client.Ping(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		pings = append(pings, time.Since(begun))
		h := benchHold(n, team)
		begun = time.Now()
		v, err := accounts.Admit(b.Context(), h)
		admissions = append(admissions, time.Since(begun))
		if err != nil || v.Held == nil {
			b.Fatal(v, err)
		}
		accounts.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{1, 100, 0, 50}})
	}
	slices.Sort(pings)
	slices.Sort(admissions)
	at := func(list []time.Duration, percent int) float64 {
		return float64(list[len(list)*percent/100].Nanoseconds()) / 1000
	}
	b.ReportMetric(at(pings, 50), "ping-p50-µs")
	b.ReportMetric(at(pings, 99), "ping-p99-µs")
	b.ReportMetric(at(admissions, 50), "admission-p50-µs")
	b.ReportMetric(at(admissions, 99), "admission-p99-µs")
	b.ReportMetric(at(admissions, 50)/at(pings, 50), "PINGs")
	b.ReportMetric(0, "ns/op")
}

// benchBill is that of a request with hits of a cache and thinking.
var benchBill = price.Bill{
	price.Input:    {Kind: price.Input, Quantity: 40, Rate: 500_000, Amount: 20},
	price.Cached:   {Kind: price.Cached, Quantity: 30, Rate: 100_000, Amount: 3},
	price.Output:   {Kind: price.Output, Quantity: 20, Rate: 900_000, Amount: 18},
	price.Thinking: {Kind: price.Thinking, Quantity: 10, Rate: 900_000, Amount: 9},
}

// BenchmarkDecisions is how many admissions, each with its settlement, 64 callers get from Redis in a second: for one team
// and for a thousand.
func BenchmarkDecisions(b *testing.B) {
	for _, count := range []int{1, 1000} {
		b.Run(fmt.Sprintf("teams=%d", count), func(b *testing.B) {
			teams := benchTeams(b, count)
			accounts := New(Config{Store: redisstore.New(limittest.TCPRedis(b)), Timeout: time.Second, Replicas: 1, Now: time.Now})
			var next atomic.Int64
			var calling sync.WaitGroup
			b.ResetTimer()
			for range 64 {
				calling.Go(func() {
					for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
						team := teams[n%count]
						v, err := accounts.Admit(b.Context(), benchHold(n, team))
						if err != nil || v.Held == nil {
							b.Error(v, err)
							return
						}
						accounts.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{1, 100, 0, 50}, Bill: &benchBill})
					}
				})
			}
			calling.Wait()
			_ = accounts.Close(b.Context()) // the settlements count
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
