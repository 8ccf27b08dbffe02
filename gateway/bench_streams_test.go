package gateway_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// benchPace is the time between two frames of a stream.
const benchPace = time.Second

// benchLong is a stream's first event: larger than any buffer on its way.
var benchLong = "id:0\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"" + strings.Repeat("river ", 7000) + "\"}}]}}\n\n"

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
	first := time.After(rand.N(benchPace)) // so that the frames of all streams come evenly
	for i := 1; ; i++ {
		if _, err := fmt.Fprintf(w, benchFrame, i, benchWords[i%len(benchWords)], benchFinish[0], i, 20+i); err != nil || controller.Flush() != nil {
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
				piece := make([]byte, 4<<10) // a paced frame comes in one piece
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
