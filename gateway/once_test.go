package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

const interleavedBody = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]},"parameters":{"enable_interleave":true,"stream":true,"max_images":2}}`

// F-C10: a streamed creation whose answer is cut, by its client or by the service, runs no second time: what is left of the
// answer is no success, and the task that it made is named.
func TestFC10ACutStreamRunsOnce(t *testing.T) {
	key := append(append([]string{}, async...), "X-Service-SSE", "enable", "Idempotency-Key", "a")
	for about, run := range map[string]func(h *house, gone <-chan struct{}){
		"its client leaves": func(h *house, gone <-chan struct{}) {
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Stall: "body", After: 1, PadBytes: 200})
			ctx, leave := context.WithCancel(t.Context())
			resp, err := h.client.Do(h.request("POST", imagePath, interleavedBody, key...).WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
				t.Error(err)
			}
			if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
				t.Error(err)
			}
			leave()
			_ = resp.Body.Close()
			<-gone // else the whole answer may be written before
			h.sim.SetFault()
			h.sim.Release()
		},
		"the service cuts it": func(h *house, _ <-chan struct{}) {
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Cut: "close", After: 2})
			if got := h.ask("POST", imagePath, interleavedBody, key...); got.err == nil {
				t.Errorf("it is not cut: %s", got.body)
			}
			h.sim.SetFault()
		},
	} {
		t.Run(about, func(t *testing.T) {
			gone := make(chan struct{}, 3) // the server has seen that a request is over, or its client is gone
			h, _ := tasked(t, func(p *plan) {
				p.wrap = func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						context.AfterFunc(r.Context(), func() { gone <- struct{}{} })
						next.ServeHTTP(w, r)
					})
				}
			})
			run(h, gone)
			task := h.records.await(t, 1)[0].Task
			for range 2 {
				got := h.ask("POST", imagePath, interleavedBody, key...)
				if got.status != http.StatusBadGateway || got.header.Get("Sluice-Refusal") != "forward/answer" || task == "" || !strings.Contains(got.body, task) {
					t.Errorf("%d %s, want a 502 that names the task %q", got.status, got.body, task)
				}
			}
			if n := h.sim.Count(simulator.EndpointImage); n != 1 {
				t.Errorf("%d creations reached the service", n)
			}
		})
	}
}

// F-C10: an answer that was read whole is a success, although its client had left.
func TestFC10AClientThatLeftGetsItsTask(t *testing.T) {
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
	if got := h.ask("POST", imagePath, imageBody, key...); got.status != http.StatusOK || got.member(t, "output", "task_id") != task || task == "" {
		t.Errorf("%d %s, want the task %q", got.status, got.body, task)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations reached the service", n)
	}
}
