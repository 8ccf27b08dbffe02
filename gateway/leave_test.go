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

	"sluice/gateway"
	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// Q08: a client leaves after any frame of a stream, wherever the stream tells its usage, and is charged what upstream
// did; never nothing.
func TestQ08LeftAfterAnyFrame(t *testing.T) {
	const frames = 6
	usage := func(n int) string {
		return fmt.Sprintf(`,"usage":{"input_tokens":5,"output_tokens":%d,"total_tokens":%d}`, n, n+5)
	}
	for _, tt := range []struct {
		about string
		at    func(n int) string // what frame n tells
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
							_, _ = fmt.Fprintf(w, "data:{\"output\":{\"choices\":[{\"finish_reason\":%s,\"message\":{\"content\":\"some words \",\"role\":\"assistant\"}}]}%s}\n\n", finish, tt.at(n))
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
				if got := record.Cost; got.Flag != tt.flag || tt.want > 0 && got.Tokens != tt.want || got.Tokens <= 0 || got.Tokens > record.Held.Tokens {
					t.Errorf("left after %d frames: charged %+v, held %+v; want %d, %s", after, got, record.Held, tt.want, tt.flag)
				}
			}
		})
	}
}

// F-C7: clients that connect and leave at once do not get upstream more requests than their team may have in flight: the
// slot is free when the upstream call has ended.
func TestFC7ConnectAndLeave(t *testing.T) {
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

// A132: a request that will be refused for its content holds nothing and is not even asked for.
func TestA132NothingIsHeldForBrokenRequests(t *testing.T) {
	h, accounts := stopped(t, "quotas: {tokens: {day: 100}, images: {day: 10}}")
	for _, tt := range []struct{ path, body string }{
		{textPath, `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"top_p":7}}`},
		{textPath, `{"model":`},
		{imagePath, strings.Replace(imageBody, `"n":1`, `"n":99`, 1) + "x"},
	} {
		if got := h.ask("POST", tt.path, tt.body, "X-Service-Async", map[bool]string{true: "enable"}[tt.path == imagePath]); got.status != 400 {
			t.Errorf("%s: %d %s", tt.body, got.status, got.body)
		}
	}
	if n := accounts.asked.Load(); n != 0 {
		t.Errorf("the accounts were asked %d times", n)
	}
	if n := h.sim.Count(simulator.EndpointText) + h.sim.Count(simulator.EndpointImage); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// A request that runs for longer than its lease keeps its hold.
func TestALongStreamKeepsItsHold(t *testing.T) {
	extended := make(chan time.Duration, 100)
	frames := make(stream)
	h := build(t, func(p *plan) {
		p.upstream = frames
		p.config.HeaderTimeout, p.config.IdleTimeout = 5*time.Second, 5*time.Second
		p.accounts = &keeping{Accounts: limit.NewMemory(p.now), extended: extended}
	})
	h.gateway.SetLease(40 * time.Millisecond)
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable"))
	if err != nil {
		t.Fatal(err)
	}
	for n, done := 1, false; !done; n++ {
		frames <- n
		select {
		case lease := <-extended:
			done = lease == 40*time.Millisecond
		case <-time.After(5 * time.Millisecond): // time has to pass; how much, the lease says
		}
	}
	close(frames)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	h.records.await(t, 1)
}

type keeping struct {
	gateway.Accounts
	extended chan time.Duration
}

func (k *keeping) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	k.extended <- lease
	return k.Accounts.Extend(ctx, h, lease)
}
