package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
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
