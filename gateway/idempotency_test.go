package gateway_test

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/gateway/simulator"
)

const interleavedBody = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]},` +
	`"parameters":{"enable_interleave":true,"stream":true,"max_images":2}}`

// A streamed creation whose answer is cut, by its client or by the service, does not run a second time: the kept part of the
// answer does not pass for a success, and its task is named.
func TestACutStreamRunsOnce(t *testing.T) {
	key := append(append([]string{}, async...), "X-Service-SSE", "enable", "Idempotency-Key", "a")
	for about, run := range map[string]func(h *harness, gone chan struct{}){
		"its client leaves": func(h *harness, gone chan struct{}) {
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Stall: "body", After: 1, PadBytes: 200})
			conn := h.dial()
			if err := h.request("POST", imagePath, interleavedBody, key...).Write(conn); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
				t.Error(err)
			}
			if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetLinger(0) // by a reset: later writes to it fail
			_ = conn.Close()
			<-gone
			h.sim.SetFault()
			h.sim.Release()
		},
		"the service cuts it": func(h *harness, _ chan struct{}) {
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Cut: "close", After: 2})
			if got := h.ask("POST", imagePath, interleavedBody, key...); got.err == nil {
				t.Errorf("it is not cut: %s", got.body)
			}
			h.sim.SetFault()
		},
	} {
		t.Run(about, func(t *testing.T) {
			gone := make(chan struct{}) // the gateway has seen the end of the first request's client
			h, _ := tasked(t, func(p *plan) {
				var once sync.Once
				p.wrap = func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						context.AfterFunc(r.Context(), func() { once.Do(func() { close(gone) }) })
						next.ServeHTTP(w, r)
					})
				}
			})
			run(h, gone)
			task := h.records.await(t, 1)[0].Task
			for range 2 {
				got := h.ask("POST", imagePath, interleavedBody, key...)
				if got.status != http.StatusBadGateway || got.header.Get("Sluice-Refusal") != "forward/answer" || task == "" ||
					!strings.Contains(got.body, task) {
					t.Errorf("%d %s, want a 502 that names the task %q", got.status, got.body, task)
				}
			}
			if n := h.sim.Count(simulator.EndpointImage); n != 1 {
				t.Errorf("%d creations reached the service", n)
			}
		})
	}
}

// An answer that was read whole is a success, although its client had left.
func TestAClientThatLeftGetsItsTask(t *testing.T) {
	h, _ := tasked(t)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Stall: "before"})
	key := append(append([]string{}, async...), "Idempotency-Key", "a")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if resp, err := h.client.Do(h.request("POST", imagePath, imageBody, key...).WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	leave()
	<-left
	h.sim.SetFault()
	h.sim.Release()
	task := h.records.await(t, 1)[0].Task
	if got := h.ask("POST", imagePath, imageBody, key...); got.status != http.StatusOK ||
		got.member(t, "output", "task_id") != task || task == "" {
		t.Errorf("%d %s, want the task %q", got.status, got.body, task)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations reached the service", n)
	}
}

// A creation that names no task and was paid for does not run a second time, even if its client left before it had the
// answer.
func TestAClientThatLeavesPaysOnce(t *testing.T) {
	left, ran, clients := make(chan struct{}), make(chan struct{}, 2), make(chan context.Context, 9)
	h, _ := tasked(t, limited("quotas: {images: {day: 100}}"), func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			ran <- struct{}{}
			w.Header().Set("Content-Type", streamType)
			_, _ = io.WriteString(w, events(interleaved(1, `"null"`, "")))
			_ = http.NewResponseController(w).Flush()
			<-left
			_, _ = io.WriteString(w, strings.Repeat(":\n\n", 100<<10)+events(interleaved(1, `"stop"`, ""))) // more than buffers take
		})
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				clients <- r.Context()
				next.ServeHTTP(w, r)
			})
		}
	})
	key := streamed("Idempotency-Key", "a")
	conn := h.dial()
	if err := h.request("POST", imagePath, interleavedBody, key...).Write(conn); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetLinger(0) // a reset, so that the next write to it fails
	_ = conn.Close()
	<-(<-clients).Done()
	close(left)
	if record := h.records.await(t, 1)[0]; record.Status != 499 || record.Cost.Flag != "exact" {
		t.Errorf("the client did not leave: %+v", record)
	}
	got := h.ask("POST", imagePath, interleavedBody, key...)
	if record := h.recordOf(t, got); got.status != 502 || got.header.Get("Sluice-Refusal") != "forward/answer" ||
		record.Refusal != "forward/answer" || record.Cache != "replay" {
		t.Errorf("again: %d %s, logged %+v", got.status, got.body, record)
	}
	h.stands(t, "images", "1", "0", 0)
	if len(ran) != 1 {
		t.Errorf("it ran %d times", len(ran))
	}
}

// The log names the task that a repeated creation is told of.
func TestARepeatsRecordNamesItsTask(t *testing.T) {
	h, _ := tasked(t)
	id := h.create(t, "Idempotency-Key", "a")
	got := h.ask("POST", imagePath, imageBody, append([]string{"Idempotency-Key", "a"}, async...)...)
	if record := h.recordOf(t, got); got.member(t, "output", "task_id") != id || record.Task != id || record.Cache != "replay" ||
		record.Refusal != "" {
		t.Errorf("%d %s, logged %+v", got.status, got.body, record)
	}
}

// rememberedOutcomes counts the remembered outcomes.
type rememberedOutcomes struct {
	*cache.Outcomes
	ended chan cache.Outcome
}

func (o *rememberedOutcomes) End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome) {
	o.Outcomes.End(ctx, name, body, outcome)
	o.ended <- outcome
}

// An answer that is kept to be repeated has a bound. A longer one reaches its client whole; a repetition then only names
// its task.
func TestWhatIsKeptIsBounded(t *testing.T) {
	const most = 1 << 20
	head := len(events(task("t1", "RUNNING", "")))
	for _, tt := range []struct {
		about, kind string
		size        int
		kept        bool
	}{
		{"a stream that fits", streamType, most, true},
		{"a stream that does not", streamType, most + 1, false},
		{"a long stream", streamType, 8 * most, false},
		{"a document that does not", "application/json", most + 1, false},
	} {
		t.Run(tt.about, func(t *testing.T) {
			seen := &rememberedOutcomes{ended: make(chan cache.Outcome, 1)}
			body := events(task("t1", "RUNNING", "")) + ":" + strings.Repeat("x", tt.size-head-2) + "\n"
			if tt.kind != streamType {
				body = task("t1", "RUNNING", `,"x":"`+strings.Repeat("x", tt.size)+`"`)
			}
			h, _ := tasked(t, says(200, tt.kind, body, nil), func(p *plan) {
				seen.Outcomes = cache.NewOutcomes(p.config.TaskTTL, p.now)
				p.outcomes = seen
			})
			key := streamed("Idempotency-Key", "a")
			if got := h.ask("POST", imagePath, interleavedBody, key...); got.status != 200 || got.body != body {
				t.Fatalf("%d and %d bytes of %d", got.status, len(got.body), len(body))
			}
			if outcome := <-seen.ended; cap(outcome.Answer) > most || (len(outcome.Answer) == len(body)) != tt.kept {
				t.Errorf("%d bytes of %d are kept", cap(outcome.Answer), len(body))
			}
			again := h.ask("POST", imagePath, interleavedBody, key...)
			if tt.kept && (again.status != 200 || again.body != body) {
				t.Errorf("again: %d and %d bytes of %d", again.status, len(again.body), len(body))
			}
			if !tt.kept && (again.status != http.StatusBadGateway || again.header.Get("Sluice-Refusal") != "forward/answer" ||
				!strings.Contains(again.body, "the task t1")) {
				t.Errorf("again: %d %.300s", again.status, again.body)
			}
			if record := h.records.await(t, 2)[1]; record.UpstreamStatus != 0 {
				t.Errorf("it ran again: %+v", record)
			}
		})
	}
}

// slowRedis keeps the next command under way, until the test delivers it.
type slowRedis struct {
	delays bool
	late   []any
}

func (s *slowRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slowRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.delays {
			s.delays, s.late = false, cmd.Args()
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		return next(ctx, cmd)
	}
}

// Redis does not answer in time, the client is asked to retry, and the first request's call reaches Redis late: the retry makes
// its task.
func TestARequestSentAgainIsNotLockedOut(t *testing.T) {
	for about, ask := range map[string]func(h *harness, number string) reading{
		"by an Idempotency-Key": func(h *harness, _ string) reading {
			return h.ask("POST", imagePath, imageBody, append([]string{"Idempotency-Key", "a"}, async...)...)
		},
		"pictures by an Idempotency-Key": func(h *harness, _ string) reading {
			return h.ask("POST", frontImages, onePicture, "Idempotency-Key", "a")
		},
		"pictures by their content": func(h *harness, number string) reading {
			return h.ask("POST", frontImages, onePicture, "X-Stainless-Retry-Count", number)
		},
	} {
		t.Run(about, func(t *testing.T) {
			var server *miniredis.Miniredis
			var network *redis.Client
			var store *cache.Redis
			slow, e := new(slowRedis), &easel{}
			h := painting(t, e.on, func(p *plan) { // here, so that everything is closed before goroutines are counted
				server = miniredis.RunT(t)
				open := func() *redis.Client {
					client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
					t.Cleanup(func() { _ = client.Close() })
					return client
				}
				client := open()
				client.AddHook(slow)
				network = open()
				store = cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Minute, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20,
					Now: time.Now})
				p.outcomes, p.config.ImageWait = store, time.Second
			})
			for _, number := range []string{"0", "1"} { // so that Redis has the scripts
				ask(h, number)
			}
			server.FlushDB()
			made := e.count(&e.made, 0)
			slow.delays = true
			if got := ask(h, "0"); got.status != http.StatusServiceUnavailable || got.header.Get("Sluice-Refusal") != "admit/state" {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if _ = store.Maintain(t.Context()); store.Unwritten() != 0 {
				t.Fatalf("%d writes wait", store.Unwritten())
			}
			if err := network.Do(t.Context(), slow.late...).Err(); err != nil {
				t.Fatal(err)
			}
			if got := ask(h, "1"); got.status != http.StatusOK || e.count(&e.made, 0) != made+1 {
				t.Errorf("%d %s, %d tasks made", got.status, got.body, e.made-made)
			}
		})
	}
}
