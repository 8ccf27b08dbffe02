package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
)

// Upstream's headers about itself are passed on to teams, with the gateway's key in them covered.
func TestUpstreamsHeadersAreRelayedAndCovered(t *testing.T) {
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Retry-After", "X-Request-Id"} {
				w.Header().Set(name, "7 "+upstreamKey)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":"Throttling.RateQuota","message":"m"}`)
		})
	})
	for _, got := range []reading{h.ask("POST", textPath, textBody), h.ask("POST", imagePath, imageBody, async...)} {
		for _, name := range []string{"Retry-After", "X-Request-Id"} {
			if value := got.header.Get(name); value != "7 "+strings.Repeat("*", len(upstreamKey)) {
				t.Errorf("%d with %s %q", got.status, name, value)
			}
		}
	}
}

// Large bodies on their way to a slow upstream.

// large is a text request with a body of a little over that many bytes.
func large(size int) string {
	return strings.Replace(textBody, "rivers", strings.Repeat("r", size), 1)
}

const fine = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// An upstream that reads slowly and steadily gets the whole body, however long that takes.
func TestSlowReaderGetsTheWholeBody(t *testing.T) {
	parallel(t)
	const size, steps, idle = 16 << 20, 32, time.Second
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			var took time.Duration
			h := slowUpstream(t, secure, func(p *plan) { p.config.IdleTimeout = idle }, func(conn net.Conn, r *http.Request) {
				began := time.Now()
				for range steps {
					_, _ = io.CopyN(io.Discard, r.Body, size/steps)
					time.Sleep(idle / 28)
				}
				rest, err := io.Copy(io.Discard, r.Body)
				if took = time.Since(began); err != nil || rest == 0 {
					t.Errorf("the end of the body: %d bytes, %v", rest, err)
				}
				_, _ = io.WriteString(conn, fine)
			})
			if got := h.ask("POST", textPath, large(size)); got.status != http.StatusOK {
				t.Errorf("%d %s", got.status, got.body)
			}
			if took < idle {
				t.Errorf("the body took %v, which is no longer than the bound of silence", took)
			}
		})
	}
}

// slowUpstream builds a harness in front of an upstream that gets each request with its body unread.
func slowUpstream(t *testing.T, secure bool, change func(*plan), serve func(net.Conn, *http.Request)) *harness {
	t.Helper()
	h, _ := upstreamOf(t, secure, func(conn net.Conn) {
		if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			serve(conn, r)
		}
	}, change)
	return h
}

// An upstream that stops reading is silent: the bound of silence ends it, not the bound of an answer. After reading the
// whole body it has the time for an answer, however large the body was.
func TestSilenceEndsALargeBody(t *testing.T) {
	parallel(t)
	for name, tt := range map[string]struct {
		reads        int64
		idle, header time.Duration
	}{
		"nothing is read":     {0, 100 * time.Millisecond, time.Hour},
		"a part is read":      {1 << 20, 100 * time.Millisecond, time.Hour},
		"nothing is answered": {32 << 20, time.Hour, 100 * time.Millisecond},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				done := make(chan struct{})
				h := slowUpstream(t, secure, func(p *plan) {
					p.config.IdleTimeout, p.config.HeaderTimeout = tt.idle, tt.header
				}, func(_ net.Conn, r *http.Request) {
					_, _ = io.CopyN(io.Discard, r.Body, tt.reads)
					<-done
				})
				defer close(done)
				h.ask("POST", textPath, large(16<<20)).wants(t, 504, "forward/silent", "RequestTimeOut")
			})
		}
	}
}

// A connection that breaks while a large body is written ends the exchange immediately.
func TestBrokenWhileALargeBodyIsWritten(t *testing.T) {
	h := slowUpstream(t, false, func(*plan) {}, func(conn net.Conn, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		_ = conn.(*net.TCPConn).SetLinger(0)
	})
	h.ask("POST", textPath, large(16<<20)).wants(t, 502, "forward/answer", "InternalError")
}

// The hold of a request whose body takes longer than its lease is kept.
func TestHoldIsKeptWhileALargeBodyIsWritten(t *testing.T) {
	extended := make(chan time.Duration, 100)
	h := slowUpstream(t, false, func(p *plan) {
		p.balances = &keeping{Balances: limit.NewMemory(p.now), extended: extended}
	}, func(conn net.Conn, r *http.Request) {
		for kept := false; !kept; {
			if _, err := io.CopyN(io.Discard, r.Body, 256<<10); err != nil {
				t.Errorf("the body was read, and the hold was given no lease: %v", err)
				return
			}
			select {
			case lease := <-extended:
				kept = lease == 40*time.Millisecond
			case <-time.After(5 * time.Millisecond): // time has to pass; the lease decides how much
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(conn, fine)
	})
	h.gateway.SetLease(40 * time.Millisecond)
	if got := h.ask("POST", textPath, large(32<<20)); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}
