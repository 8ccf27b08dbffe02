package failover

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
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
			before := scriptTime(b, client)
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
			b.ReportMetric((scriptTime(b, client)-before)/float64(b.N), "Redis-µs/decision")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkScopes is BenchmarkDecisions for one team, alone and with limits of its key and of the values of its tag, in turn, so that
// both see the same machine: in Redis, and in memory by one caller.
func BenchmarkScopes(b *testing.B) {
	const limits = "{requests: {day: 1000000000}, spend: {day: 1000000}}"
	plain := []string{"rates: {requests: {per: 1s, limit: 1000000000}}", "quotas: " + limits, "tag_key: project"}
	key := "keys: [{id: aaaaaaaaaaaa, sha256: \"" + strings.Repeat("0", 63) + "1\""
	for name, lines := range map[string][]string{
		"team": append(plain, key+"}]"),
		"all":  append(plain, "tag_quotas: "+limits, key+", rates: {requests: {per: 1s, limit: 1000000000}}, quotas: "+limits+"}]"),
	} {
		team := limittest.Team(b, lines...)
		ask := func(n int) *limit.Hold {
			h := benchHold(n, team)
			h.Tag, h.Key = "p"+strconv.Itoa(n%10), "aaaaaaaaaaaa"
			return h
		}
		b.Run("redis/"+name, func(b *testing.B) {
			client := limittest.TCPRedis(b)
			accounts := New(Config{Store: redisstore.New(client), Timeout: time.Second, Replicas: 1, Now: time.Now})
			var next atomic.Int64
			var calling sync.WaitGroup
			before := scriptTime(b, client)
			b.ResetTimer()
			for range 64 {
				calling.Go(func() {
					for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
						v, err := accounts.Admit(b.Context(), ask(n))
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
			b.ReportMetric((scriptTime(b, client)-before)/float64(b.N), "Redis-µs/decision")
		})
		b.Run("memory/"+name, func(b *testing.B) {
			accounts := limit.NewMemory(time.Now)
			for n := range b.N {
				v, err := accounts.Admit(b.Context(), ask(n))
				if err != nil || v.Held == nil {
					b.Fatal(v, err)
				}
				accounts.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{1, 100, 0, 50}})
			}
		})
	}
}

// scriptTime is how many microseconds Redis has spent on scripts.
func scriptTime(b *testing.B, client redis.UniversalClient) (n float64) {
	b.Helper()
	text := client.Info(b.Context(), "commandstats").Val()
	for _, command := range []string{"eval", "evalsha"} {
		if found := regexp.MustCompile("cmdstat_" + command + `:calls=\d+,usec=(\d+)`).FindStringSubmatch(text); found != nil {
			usec, _ := strconv.ParseFloat(found[1], 64)
			n += usec
		}
	}
	return n
}
