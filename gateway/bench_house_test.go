package gateway_test

import "testing"

// benchHouse makes a child's teams file have a house, beside the limits of its team.
const benchHouse = "BENCH_HOUSE"

// BenchmarkHouse puts the gateway with a house beside itself with the limits of a team alone, on one core each: in memory and in Redis.
func BenchmarkHouse(b *testing.B) {
	server := startBenchRedis(b)
	upstream := startChild(b, "upstream", "", 2)
	for name, role := range map[string]string{"memory": "gateway", "redis": "redis"} {
		b.Run(name, func(b *testing.B) {
			alone := startChild(b, role, upstream.address, 1)
			house := startChild(b, role, upstream.address, 1, benchHouse+"=1")
			before := server.read()
			compare(b, []string{"alone", "house"}, []*child{alone, house}, benchRequest(), 64, 2000)
			b.ReportMetric((server.read().script-before.script)/float64(2*b.N), "script-µs/req")
		})
	}
}
