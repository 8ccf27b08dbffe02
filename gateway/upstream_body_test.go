package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
)

// A connection that may still have the deadline for draining, because its client left while it was read, is not used again, even
// if the answer arrived whole.
func TestDeadlineOfDrainingEndsTheConnection(t *testing.T) {
	frames := make(stream)
	peers := make(chan string, 2) // the gateway's ends of the connections, request by request
	left, leave := context.WithCancel(t.Context())
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			peers <- r.RemoteAddr
			frames.ServeHTTP(w, r)
		})
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Leaves") != "" { // the test decides when it ends
					r = r.WithContext(left)
				}
				next.ServeHTTP(w, r)
			})
		}
	})
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable", "X-Leaves", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(resp.Body)
	for n := 1; n <= 2; n++ { // the second is read separately: the connection's silence is bounded by then
		frames <- n
		for line := ""; !strings.HasPrefix(line, "data:"); {
			if line, err = answer.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave() // when it returns, the deadline is on its way
	close(frames)
	_, _ = io.Copy(io.Discard, answer)
	_ = resp.Body.Close()
	h.records.await(t, 1)
	if got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if first, second := <-peers, <-peers; first == second {
		t.Error("the connection is used again")
	}
}

// A client leaves after any frame of a stream, wherever the stream has its usage, and is charged for upstream's work;
// never nothing.
func TestLeftAfterAnyFrame(t *testing.T) {
	const frames = 6
	usage := func(n int) string {
		return fmt.Sprintf(`,"usage":{"input_tokens":5,"output_tokens":%d,"total_tokens":%d}`, n, n+5)
	}
	for _, tt := range []struct {
		about string
		at    func(n int) string // the text of frame n
		want  int64              // 0: an estimate above 0
		flag  string
	}{
		{"usage last", func(n int) string {
			if n == frames {
				return usage(60)
			}
			return ""
		}, 65, "exact"},
		{"usage in each", func(n int) string { return usage(n * 10) }, 65, "exact"},
		{"no usage", func(int) string { return "" }, 0, "estimated"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			for after := range frames + 1 {
				left, arrived := make(chan struct{}), make(chan struct{})
				h := build(t, limited("quotas: {tokens: {day: 1000000}}"), func(p *plan) {
					p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						close(arrived)
						w.Header().Set("Content-Type", "text/event-stream")
						for n := 1; n <= frames; n++ {
							if n == after+1 {
								<-left
							}
							finish := `"null"`
							if n == frames {
								finish = `"stop"`
							}
							_, _ = fmt.Fprintf(w, "data:{\"output\":{\"choices\":[{\"finish_reason\":%s,\"message\":{\"content\":\"some words "+
								"\",\"role\":\"assistant\"}}]}%s}\n\n", finish, tt.at(n))
							_ = http.NewResponseController(w).Flush()
						}
						if after == frames {
							<-left
						}
					})
				})
				ctx, leave := context.WithCancel(t.Context())
				if after == 0 { // there is no header yet when the client leaves
					go func() { <-arrived; leave() }()
				}
				resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable").WithContext(ctx))
				if err == nil {
					lines := bufio.NewScanner(resp.Body)
					for n := 0; n < after && lines.Scan(); {
						if strings.HasPrefix(lines.Text(), "data:") {
							n++
						}
					}
				}
				leave()
				if err == nil {
					_ = resp.Body.Close()
				}
				close(left)
				record := h.records.await(t, 1)[0]
				if got := record.Cost; got.Flag != tt.flag || tt.want > 0 && got.Amounts[limit.Tokens] != tt.want || got.Amounts[limit.Tokens] <= 0 ||
					got.Amounts[limit.Tokens] > record.Held.Amounts[limit.Tokens] {
					t.Errorf("left after %d frames: charged %+v, held %+v; want %d, %s", after, got, record.Held, tt.want, tt.flag)
				}
			}
		})
	}
}

// Clients that connect and immediately leave do not cause more upstream requests than their team may have in flight: the slot is
// free when the upstream call has ended.
func TestConnectAndLeave(t *testing.T) {
	var inFlight, most atomic.Int64
	free := make(chan struct{})
	h := build(t, limited("concurrent: 4"), func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			now := inFlight.Add(1)
			defer inFlight.Add(-1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			_, _ = io.Copy(io.Discard, r.Body)
			<-free
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"output":{"text":"a"},"usage":{"input_tokens":1,"output_tokens":1}}`)
		})
	})
	var left atomic.Int64
	var leaving sync.WaitGroup
	for range 16 {
		leaving.Go(func() {
			for range 20 {
				ctx, leave := context.WithCancel(t.Context())
				ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
				if resp, err := h.client.Do(h.request("POST", textPath, textBody).WithContext(ctx)); err == nil {
					_ = resp.Body.Close()
				} else {
					left.Add(1)
				}
				leave()
			}
		})
	}
	leaving.Wait()
	for waiting := time.Now(); inFlight.Load() < 4 && time.Since(waiting) < 20*time.Second; { // the first four may be on their way
		h.ask("GET", tasksPath, "")
	}
	close(free)
	h.records.await(t, 4)
	if n := most.Load(); n != 4 || left.Load() == 0 {
		t.Errorf("%d requests were at upstream at once, the team may have 4; %d clients left", n, left.Load())
	}
}
