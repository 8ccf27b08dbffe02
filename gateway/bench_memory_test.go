package gateway_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These benchmarks measure memory on the process, from outside: what the kernel says that it has, and the most that it had.

// BenchmarkBodies sends 16 bodies of 13 MB at once, to the gateway and to a bare ReverseProxy in turns. It reports the peak of
// resident memory above idle as a multiple of the bodies' sum, MB/s, and CPU time per body. b.N counts rounds of 16 bodies.
func BenchmarkBodies(b *testing.B) {
	const clients = 16
	upstream := startChild(b, "upstream", "", 2)
	large := `{"model":"gen2.6-chat","input":{"messages":[{"role":"user","content":[{"text":"What is this?"},{"image":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 13<<20/8) + `"}]}]}}`
	request := postOf(multimodalPath, large, "")
	sum := float64(clients * len(large))
	type side struct {
		*child
		name       string
		conns      []*benchConn
		idle, peak float64 // bytes
		cpu        float64 // µs
		took       time.Duration
	}
	sides := []*side{{name: "bare"}, {name: "gateway"}}
	for _, s := range sides {
		s.child = startChild(b, s.name, upstream.address, 1)
		s.conns = dialAll(b, s.address, clients)
		drive(b, s.conns, postOf(textPath, padded(1024), ""), 200) // connections and code, and no large body
		s.idle = s.resident("VmRSS")
	}
	b.ResetTimer()
	for range b.N {
		for _, s := range sides {
			before, start := s.read("").cpu, time.Now()
			drive(b, s.conns, request, clients)
			s.took += time.Since(start)
			s.cpu += s.read("").cpu - before
		}
	}
	b.StopTimer()
	for _, s := range sides {
		s.peak = s.resident("VmHWM")
		b.ReportMetric((s.peak-s.idle)/sum, s.name+"-peak/bodies")
		b.ReportMetric(sum*float64(b.N)/1e6/s.took.Seconds(), s.name+"-MB/s")
		b.ReportMetric(s.cpu/float64(b.N*clients), s.name+"-cpu-µs/body")
	}
	b.ReportMetric(sides[0].took.Seconds()/sides[1].took.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// postOf is a request as a client library sends it. headers are whole lines.
func postOf(path, body, headers string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"%sContent-Length: %d\r\n\r\n%s", path, benchKey, headers, len(body), body)
}

// resident reads a size of the process in bytes: VmRSS is what it has in memory, and VmHWM the most that it had.
func (c *child) resident(size string) float64 {
	c.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		c.Skip("the kernel does not tell the process's memory: ", err)
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == size+":" {
			kilobytes, _ := strconv.ParseFloat(string(fields[1]), 64)
			return kilobytes * 1024
		}
	}
	c.Fatalf("%s is not in the process's status", size)
	return 0
}
