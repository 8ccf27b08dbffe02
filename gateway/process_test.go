package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway"
	"sluice/gateway/simulator"
	"sluice/gateway/wire"
	"sluice/telemetry"
)

// The gateway stops, fails or runs out of room.

func TestDrainAndStop(t *testing.T) {
	h := build(t)
	if got := h.ask("POST", textPath, textBody); got.header.Get("Connection") != "" {
		t.Errorf("Connection %q before the drain", got.header.Get("Connection"))
	}
	h.gateway.BeginDrain()
	for _, path := range []string{textPath, "/nowhere"} {
		if got := h.raw(strings.Replace(h.post(), textPath, path, 1), 20*time.Second); !strings.Contains(got, "\r\nConnection: close\r\n") {
			t.Errorf("while draining: %.300q", got)
		}
	}
	h.sim.SetFault(simulator.Fault{Stall: "before"})
	running := make(chan reading, 1)
	go func() { running <- h.ask("POST", textPath, textBody) }()
	if err := h.sim.AwaitStalled(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	h.gateway.BeginStop()
	got := h.ask("POST", textPath, textBody)
	got.wants(t, 503, "serve/stopping", "ServiceUnavailable")
	if got.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	h.sim.Release()
	if last := <-running; last.status != http.StatusOK {
		t.Errorf("the running request was answered %d %s", last.status, last.body)
	}
}

// A fault of the gateway is a 500 with a request id, or a cut; it is recorded once, and the body's memory is given
// back.
func TestPanic(t *testing.T) {
	for _, at := range []string{"route", "read", "claims", "answer"} {
		t.Run(at, func(t *testing.T) {
			h := build(t, func(p *plan) {
				p.wrap = func(next http.Handler) http.Handler { return failing(at, next) }
				if at == "claims" {
					p.claims = cache.NewClaims(p.config.TaskTTL, func() time.Time { panic("secret-canary") })
				}
			})
			got, err := h.client.Do(h.request("POST", imagePath, imageBody, "X-Service-Async", "enable"))
			if at == "answer" {
				if err == nil {
					_, err = io.ReadAll(got.Body)
				}
				if err == nil {
					t.Error("a cut answer looks whole")
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(got.Body)
				reading{got.StatusCode, got.Header, string(body), nil}.wants(t, 500, "observe/panic", "InternalError")
				if bytes.Contains(body, []byte("goroutine")) || bytes.Contains(body, []byte("canary")) {
					t.Errorf("the client reads %s", body)
				}
			}
			if record := h.records.await(t, 1)[0]; record.Refusal != "observe/panic" {
				t.Errorf("record %+v", record)
			}
			if held := h.gateway.BodiesInMemory(); held != 0 {
				t.Errorf("%d bytes of bodies are still held", held)
			}
		})
	}
}

// failing gives the gateway a request or a writer that panics at a point.
func failing(at string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch at {
		case "route":
			r.URL = nil
		case "read":
			r.Body = io.NopCloser(panicking{})
		case "answer":
			w = brokenWriter{w}
		}
		next.ServeHTTP(w, r)
	})
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("secret-canary") }

type brokenWriter struct{ http.ResponseWriter }

func (w brokenWriter) Write(p []byte) (int, error) {
	_, _ = w.ResponseWriter.Write(p[:len(p)/2])
	panic("secret-canary")
}
func (w brokenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// http.ErrAbortHandler of a cut answer is passed up to the server.
func TestAbortIsRaisedAgain(t *testing.T) {
	raised := make(chan any, 1)
	h := build(t, func(p *plan) {
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					v := recover()
					raised <- v
					if v != nil {
						panic(v)
					}
				}()
				next.ServeHTTP(w, r)
			})
		}
	})
	h.sim.SetFault(simulator.Fault{Cut: "reset", After: 2})
	if resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable")); err == nil {
		_, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if v := <-raised; v != http.ErrAbortHandler {
		t.Errorf("raised %v", v)
	}
}

// However many large uploads arrive together, bodies stay inside the budget and one team inside its half.
func TestBodyBudget(t *testing.T) {
	const size = 1 << 20
	var most atomic.Int64
	full := make(chan struct{}) // one was refused
	var g *gateway.Gateway
	h := build(t, func(p *plan) {
		p.config.BodyBudget, p.config.MaxBody = 8*size, 2*size
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-full
			for held := g.BodiesInMemory(); ; {
				before := most.Load()
				if held <= before || most.CompareAndSwap(before, held) {
					break
				}
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		})
	})
	g = h.gateway
	body := strings.Replace(textBody, "rivers", strings.Repeat("r", size-len(textBody)), 1)
	var served, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := h.request("POST", textPath, body, "Authorization", "Bearer "+h.keys[[]string{"search", "shop"}[i%2]])
			resp, err := h.client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				served.Add(1)
				return
			}
			if refused.Add(1) == 1 {
				close(full)
			}
			reading{resp.StatusCode, resp.Header, string(text), nil}.wants(t, 503, "throttle/memory", "ServiceUnavailable")
			if resp.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		})
	}
	all.Wait()
	h.records.await(t, 50)
	if held := g.BodiesInMemory(); held != 0 || most.Load() > 8*size || served.Load() == 0 || served.Load()+refused.Load() != 50 {
		t.Errorf("held %d at the end, %d at most; %d served, %d refused", held, most.Load(), served.Load(), refused.Load())
	}
}

// A team's bodies take half of the budget at most; the other half is left to the others.
func TestHalfOfTheBudget(t *testing.T) {
	release := make(chan struct{})
	h := build(t, func(p *plan) {
		p.config.BodyBudget, p.config.MaxBody = 2000, 1000
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-release
			w.Header().Set("Content-Type", "application/json")
		})
	})
	body := textBody + strings.Repeat(" ", 600-len(textBody))
	running := make(chan reading, 2)
	go func() { running <- h.ask("POST", textPath, body) }()
	for h.gateway.BodiesInMemory() != 600 { // the first body is in
		h.ask("GET", tasksPath, "")
	}
	h.ask("POST", textPath, body).wants(t, 503, "throttle/memory", "ServiceUnavailable")
	go func() {
		running <- h.send(h.request("POST", textPath, body, "Authorization", "Bearer "+h.keys["shop"]))
	}()
	for h.gateway.BodiesInMemory() != 1200 {
		h.ask("GET", tasksPath, "")
	}
	close(release)
	for range 2 {
		if got := <-running; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// A listener out of file descriptors serves again once some are free.
func TestAcceptErrorsPass(t *testing.T) {
	h := build(t)
	server := wire.NewServer(h.gateway, discard())
	l, err := wire.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	poor := &poorListener{Listener: l, failures: 3}
	go func() { done <- server.Serve(poor) }()
	resp, err := h.client.Get("http://" + l.Addr().String() + "/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = server.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) || resp.StatusCode != http.StatusNotFound || poor.failures >= 0 {
		t.Errorf("%d, served until %v, %d failures did not happen", resp.StatusCode, err, poor.failures+1)
	}
}

// The log line of a request, made by the real log, has the Record and nothing of the body.
func TestLogLineOfARequest(t *testing.T) {
	h := build(t)
	h.ask("POST", textPath, textBody)
	var out bytes.Buffer
	log := telemetry.NewLog(telemetry.LogConfig{Writer: &out, Now: time.Now})
	record := h.records.await(t, 1)[0]
	log.Write(&record, record.AppendLine(nil))
	if err := log.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"team":"search"`, `"endpoint":"text"`, `"model":"llm-max"`, `"usage":{"input_tokens":`,
		`"upstream_status":200`, fmt.Sprintf(`"bytes_in":%d`, len(textBody))} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "rivers") || strings.Contains(out.String(), h.keys["search"]) {
		t.Errorf("the line has too much: %s", out.String())
	}
}

// poorListener has no file descriptor for its first connections.
type poorListener struct {
	net.Listener
	failures int
}

func (l *poorListener) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}
