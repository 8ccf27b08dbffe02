package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// benchPace is the time between two frames of a stream.
const benchPace = time.Second

// benchLong is a stream's first event: larger than any buffer on its way.
var benchLong = "id:0\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"" +
	strings.Repeat("river ", 7000) + "\"}}]}}\n\n"

// pacedFrames answers a stream that begins with a long event, and goes on until the client leaves.
func pacedFrames(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for name, value := range serviceHeaders {
		w.Header()[name] = []string{value}
	}
	w.Header()["Content-Type"] = []string{"text/event-stream;charset=UTF-8"}
	controller := http.NewResponseController(w)
	_ = controller.SetWriteDeadline(time.Time{})
	_, _ = io.WriteString(w, benchLong)
	tick := time.NewTicker(benchPace)
	defer tick.Stop()
	first := time.After(rand.N(benchPace)) // so that the frames of all streams arrive evenly
	for i := 1; ; i++ {
		if _, err := fmt.Fprintf(w, benchFrame, i, benchWords[i%len(benchWords)], benchFinish[0], i, 20+i); err != nil ||
			controller.Flush() != nil {
			return
		}
		select {
		case <-first:
			tick.Reset(benchPace)
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// BenchmarkStreams holds 2,000 streams of a frame each second through the gateway and through a bare ReverseProxy at the same time. It
// reports resident memory per stream, and CPU time per frame. b.N counts seconds.
func BenchmarkStreams(b *testing.B) {
	const streams = 2000
	upstream := startChild(b, "pacing", "", 2)
	request := postOf(textPath, padded(1024), "X-Service-SSE: enable\r\n")
	type side struct {
		*child
		name        string
		frames      atomic.Int64
		idle, cpu   float64
		framesBegun int64
	}
	sides := []*side{{name: "bare"}, {name: "gateway"}}
	for _, s := range sides {
		s.child = startChild(b, s.name, upstream.address, 1)
		s.read("?gc")
		s.idle = s.resident("VmRSS")
		for range streams {
			conn := dialAll(b, s.address, 1)[0]
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			go func() {
				piece := make([]byte, 4<<10) // a paced frame arrives in one piece
				for {
					if _, err := conn.Conn.Read(piece); err != nil {
						return
					}
					s.frames.Add(1)
				}
			}()
		}
	}
	time.Sleep(2 * benchPace)
	for _, s := range sides {
		s.cpu, s.framesBegun = s.read("").cpu, s.frames.Load()
	}
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * time.Second)
	b.StopTimer()
	for _, s := range sides {
		cpu, frames := s.read("").cpu-s.cpu, s.frames.Load()-s.framesBegun
		b.ReportMetric((s.resident("VmRSS")-s.idle)/streams/1024, s.name+"-KB/stream")
		b.ReportMetric(cpu/float64(frames), s.name+"-cpu-µs/frame")
		b.ReportMetric(float64(frames)/float64(b.N), s.name+"-frames/s")
	}
	b.ReportMetric(0, "ns/op")
}

// These benchmarks measure memory on the process, from outside: its current and its peak memory, as the kernel reports them.

// BenchmarkBodies sends 16 bodies of 13 MB concurrently, to the gateway and to a bare ReverseProxy in turns. It reports the peak
// of resident memory above idle as a multiple of the bodies' sum, MB/s, and CPU time per body. b.N counts rounds of 16 bodies.
func BenchmarkBodies(b *testing.B) {
	const clients = 16
	upstream := startChild(b, "upstream", "", 2)
	large := `{"model":"gen2.6-chat","input":{"messages":[{"role":"user","content":[{"text":"What is this?"},` +
		`{"image":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 13<<20/8) + `"}]}]}}`
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
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"%sContent-Length: %d\r\n\r\n%s",
		path, benchKey, headers, len(body), body)
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
