package failover

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// BenchmarkTagQuotas is BenchmarkDecisions for one team whose requests are for a hundred values of its tag: with no quotas of
// each value, with some of the day, and with some of the month, which is the sum of its days. It also reports how long Redis
// worked on each.
func BenchmarkTagQuotas(b *testing.B) {
	for _, quotas := range []string{"none", "day", "month"} {
		b.Run(quotas, func(b *testing.B) {
			lines := []string{"quotas: {tokens: {day: 1000000000000}, spend: {month: 1000000}}", "tag_key: project"}
			if quotas != "none" {
				lines = append(lines, "tag_quotas: {spend: {"+quotas+": 1000000}}")
			}
			team := limittest.Team(b, lines...)
			client := limittest.TCPRedis(b)
			accounts := New(Config{Store: redisstore.New(client), Timeout: time.Second, Replicas: 1, Now: time.Now})
			var next atomic.Int64
			var calling sync.WaitGroup
			_, before := limittest.ScriptTime(b, client)
			b.ResetTimer()
			for range 64 {
				calling.Go(func() {
					for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
						h := benchHold(n, team)
						h.Tag = "p" + strconv.Itoa(n%100)
						v, err := accounts.Admit(b.Context(), h)
						if err != nil || v.Held == nil {
							b.Error(v, err)
							return
						}
						accounts.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{1, 100, 0, 50}})
					}
				})
			}
			calling.Wait()
			_ = accounts.Close(b.Context()) // the settlements count
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			_, after := limittest.ScriptTime(b, client)
			b.ReportMetric((after-before)/float64(b.N), "Redis-µs/decision")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkScopes is BenchmarkDecisions for one team, alone, with a house beside it, and with limits of its key and of the values of its
// tag, too, in turn, so that all see the same machine: in Redis, and in memory by one caller.
func BenchmarkScopes(b *testing.B) {
	const limits = "{requests: {day: 1000000000}, spend: {day: 1000000}}"
	plain := []string{"rates: {requests: {per: 1s, limit: 1000000000}}", "quotas: " + limits, "tag_key: project"}
	key := "keys: [{id: aaaaaaaaaaaa, sha256: \"" + strings.Repeat("0", 63) + "1\""
	inside := []string{"tag_quotas: " + limits, key + ", rates: {requests: {per: 1s, limit: 1000000000}}, quotas: " + limits + "}]"}
	house := houseOf(b, limits)
	for _, with := range []struct {
		name  string
		lines []string
		file  *teams.File
	}{{"team", []string{key + "}]"}, &teams.File{}}, {"house", []string{key + "}]"}, house}, {"all", inside, house}} {
		team, outsides := limittest.Team(b, append(plain, with.lines...)...), limit.Outsides{}
		ask := func(n int) *limit.Hold {
			h := benchHold(n, team)
			h.Tag, h.Key, h.Outside = "p"+strconv.Itoa(n%10), "aaaaaaaaaaaa", outsides.For(with.file, nil, h.Model)
			return h
		}
		decide := func(b *testing.B, in housed, n int) {
			v, err := in.Admit(b.Context(), ask(n))
			if err != nil || v.Held == nil {
				b.Error(v, err)
				return
			}
			in.(interface{ SettleLater(c *limit.Charge) }).SettleLater(
				&limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{1, 100, 0, 50}})
		}
		b.Run("redis/"+with.name, func(b *testing.B) {
			client := limittest.TCPRedis(b)
			accounts := New(Config{Store: redisstore.New(client), Timeout: time.Second, Replicas: 1, Now: time.Now})
			var next atomic.Int64
			var calling sync.WaitGroup
			decide(b, accounts, 0)
			_, before := limittest.ScriptTime(b, client)
			used := cpuTime()
			b.ReportAllocs()
			b.ResetTimer()
			for range 64 {
				calling.Go(func() {
					for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
						decide(b, accounts, n)
					}
				})
			}
			calling.Wait()
			_ = accounts.Close(b.Context()) // the settlements count
			b.ReportMetric((cpuTime()-used)/float64(b.N), "µs/decision")
			_, after := limittest.ScriptTime(b, client)
			b.ReportMetric((after-before)/float64(b.N), "Redis-µs/decision")
		})
		b.Run("memory/"+with.name, func(b *testing.B) {
			accounts := limit.NewMemory(time.Now)
			b.ReportAllocs()
			for n := range b.N {
				decide(b, accounts, n)
			}
		})
	}
}

// houseOf is a teams file of a house with quotas.
func houseOf(b *testing.B, quotas string) *teams.File {
	b.Helper()
	file, err := teams.Parse([]byte("house: {quotas: " + quotas + "}\nteams: []\n"))
	if err != nil {
		b.Fatal(err)
	}
	return file
}
