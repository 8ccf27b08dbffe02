package gateway_test

import (
	"os"
	"slices"
	"testing"
	"time"
)

// benchScopes is what a child's teams file has beside the limits of its team, by benchLimited.
const benchScopes = "BENCH_SCOPES"

const (
	houseLimits = "house: {quotas: {tokens: {day: 1000000000000000}, spend: {month: 1000000}}, alert: [50, 80, 95]}\n"
	keyLimits   = ", rates: {requests: {per: 1s, limit: 1000000000}}, quotas: {tokens: {day: 1000000000000000}}"
	tagLimits   = "    tag_quotas: {tokens: {day: 1000000000000000}}\n"
	tagKey      = "    tag_key: project\n"
)

// benchLimited are texts of a teams file: of its key, of its team, and of itself.
var benchLimited = map[string]struct{ key, team, file string }{
	"team": {"", tagKey, ""}, "house": {"", tagKey, houseLimits}, "all": {keyLimits, tagKey + tagLimits, houseLimits},
}

// BenchmarkHouse puts the gateway with a house, and with limits of the house, the team, its key and its tags together, beside itself with
// the limits of a team alone, on one core each: in memory and in Redis. The request has a tag for all of them.
func BenchmarkHouse(b *testing.B) {
	server := startBenchRedis(b)
	upstream := startChild(b, "upstream", "", 2)
	request := benchRequest("Sluice-Tag: project=river\r\n")
	for name, role := range map[string]string{"memory": "gateway", "redis": "redis"} {
		b.Run(name, func(b *testing.B) {
			var sides []*side
			for _, scopes := range []string{"team", "house", "all"} {
				sides = append(sides, &side{name: scopes, child: startChild(b, role, upstream.address, 1, benchScopes+"="+scopes, profileOf(scopes))})
			}
			compareRounds(b, sides, request, func() float64 { return server.read().script })
		})
	}
}

// profileOf makes children of one role write profiles of their own.
func profileOf(name string) string {
	if path := os.Getenv(benchProfile); path != "" {
		return benchProfile + "=" + path + "." + name
	}
	return benchProfile + "="
}

// side is a child that is compared, and what its rounds took: processor time of it and of Redis's scripts, and time, per request.
type side struct {
	*child
	name              string
	conns             []*benchConn
	cpu, script, took []float64
}

// round sends n requests.
func (s *side) round(b *testing.B, request []byte, n int, script func() float64) {
	cpu, scripts, begun := s.read("").cpu, script(), time.Now()
	drive(b, s.conns, request, n)
	took, of := time.Since(begun), float64(n)
	s.took = append(s.took, took.Seconds()/of)
	s.cpu, s.script = append(s.cpu, (s.read("").cpu-cpu)/of), append(s.script, (script()-scripts)/of)
}

// compareRounds sends b.N requests to each side in rounds, and reports of each but the first how many requests a core does beside the first
// one's: by processor time, because others use the machine, and by the clock. These are the medians of the rounds, with the quartiles;
// quiet is by the quarter of each side's rounds that others disturbed least.
func compareRounds(b *testing.B, sides []*side, request []byte, script func() float64) {
	const clients, chunk = 64, 1000
	for _, s := range sides {
		s.conns = dialAll(b, s.address, clients)
		drive(b, s.conns, request, chunk)
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += chunk {
		for n := range sides {
			sides[(n+done/chunk)%len(sides)].round(b, request, chunk, script) // each is first as often
		}
	}
	b.StopTimer()
	first := sides[0]
	for _, s := range sides {
		b.ReportMetric(quartile(s.cpu, 2), s.name+"-cpu-µs/req")
		b.ReportMetric(quartile(s.script, 2), s.name+"-script-µs/req")
		if s == first {
			continue
		}
		ratios := beside(first.cpu, s.cpu)
		for at, part := range []string{"-q1", "", "-q3"} {
			b.ReportMetric(quartile(ratios, at+1), s.name+"-ratio"+part)
		}
		b.ReportMetric(quartile(first.cpu, 1)/quartile(s.cpu, 1), s.name+"-quiet-ratio")
		b.ReportMetric(quartile(beside(first.took, s.took), 2), s.name+"-req/s-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// beside are the quotients of two lists.
func beside(first, second []float64) []float64 {
	list := make([]float64, len(second))
	for i := range list {
		list[i] = first[i] / second[i]
	}
	return list
}

// quartile is a quartile of a list: 2 is the median.
func quartile(list []float64, n int) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)*n/4]
}
