package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway"
	"sluice/gateway/accounts"
	"sluice/policy/limit"
)

// Sixteen bodies of 13 MB in flight cost their own bytes and little more: each is held once, and judging it builds nothing
// of its size.
func TestHeapOfLargeBodies(t *testing.T) {
	const bodies, size = 16, 13 << 20
	arrived, release := make(chan struct{}, bodies), make(chan struct{})
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			arrived <- struct{}{}
			<-release
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		})
	})
	picture := "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAADwf7zU" // PNG, 1024×1024, colour type 2
	body := `{"model":"llm-vl","input":{"messages":[{"role":"user","content":[{"text":"What is this?"},{"image":"data:image/png;base64,` +
		picture + strings.Repeat("AAAA", (size-400)/4) + `"}]}]}}`
	before := liveHeap()
	answers := make(chan error, bodies)
	for range bodies {
		r := h.request("POST", multimodalPath, "")
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body)) // shared: the client's side costs nothing
		go func() {
			resp, err := h.client.Do(r)
			if err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("answered %d", resp.StatusCode)
				}
			}
			answers <- err
		}()
	}
	for range bodies {
		<-arrived
	}
	held, ideal := liveHeap()-before, int64(bodies*len(body))
	close(release)
	for range bodies {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d bodies of %d bytes hold %d bytes of live heap, %.3f of their own size", bodies, len(body), held, float64(held)/float64(ideal))
	if held > ideal*12/10 {
		t.Errorf("%d bytes are held for %d bytes of bodies", held, ideal)
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the first one empties the pools, the second their contents
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return int64(mem.HeapAlloc)
}

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
		Balances: limit.NewMemory(time.Now),
		Now:      time.Now, Teams: parse(t, h.teamsDoc), Upstream: accounts.Main(upstreamKey), Claims: cache.NewClaims(config.TaskTTL, time.Now),
		Queries: cache.NewQueries(1_000_000, time.Now), Cancels: cache.NewQueries(1_000_000, time.Now),
		Outcomes: cache.NewOutcomes(config.TaskTTL, time.Now), Record: h.records.add, Logger: discard(),
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
