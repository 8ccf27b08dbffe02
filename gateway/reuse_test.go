package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway"
	"sluice/policy/limit"
)

// poisoned hands out buffers full of 0xDB and fills them again when they are returned. This shows a byte of one request
// that reaches another, and a buffer that is used after its return.
type poisoned struct{ sync.Pool }

func newPoisoned() *poisoned {
	return &poisoned{sync.Pool{New: func() any { b := poison(make([]byte, 32<<10)); return &b }}}
}

func poison(b []byte) []byte {
	for i := range b {
		b[i] = 0xDB
	}
	return b
}

func (p *poisoned) Get() []byte { return *p.Pool.Get().(*[]byte) }

func (p *poisoned) Put(b []byte) {
	poison(b)
	p.Pool.Put(&b)
}

// No buffer carries a byte from one request into another.
func TestBuffersAreNotShared(t *testing.T) {
	h := build(t)
	h.gateway.SetBufferPool(newPoisoned())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			mark := fmt.Sprintf("mark-%d-", i)
			body := strings.Replace(textBody, "rivers", strings.Repeat(mark, 50), 1)
			for j := range 20 {
				headers := []string{"X-Service-SSE", "enable"}[:2*(j%2)]
				got := h.ask("POST", textPath, body, headers...)
				if got.status != http.StatusOK || got.err != nil || strings.Contains(got.body, "\xdb") {
					t.Errorf("%d %v %q", got.status, got.err, got.body)
				}
				for k := range 8 {
					if k != i && strings.Contains(got.body, fmt.Sprintf("mark-%d-", k)) {
						t.Errorf("the answer to %d holds what %d said", i, k)
					}
				}
			}
		})
	}
	all.Wait()
}

// A gateway that is its own upstream refuses its first request to itself, since the service's key is no team's.
func TestLoopEnds(t *testing.T) {
	var served int
	var loop http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { served++; loop.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	h := build(t)
	base, err := url.Parse(server.URL + "/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	config := settings()
	config.UpstreamURL = base
	g := gateway.New(config, gateway.Deps{
		Accounts: limit.NewMemory(time.Now),
		Now:      time.Now, Teams: parse(t, h.teamsDoc), UpstreamKey: upstreamKey, Claims: cache.NewClaims(config.TaskTTL, time.Now), Queries: cache.NewQueries(1_000_000, time.Now), Cancels: cache.NewQueries(1_000_000, time.Now), Outcomes: cache.NewOutcomes(config.TaskTTL, time.Now), Record: h.records.add, Logger: discard(),
	})
	t.Cleanup(g.Close)
	loop = g
	r := h.request("POST", textPath, textBody)
	r.URL.Host = base.Host
	h.send(r).wants(t, 502, "forward/key", "InternalError")
	if served != 2 {
		t.Errorf("went round %d times", served)
	}
}
