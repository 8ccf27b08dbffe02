package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// A deadline for writing affects only writes: an answer that begins late, and a stream that is silent for a while, arrive whole,
// also over HTTP/2, where net/http would end a silent stream by it.
func TestASilenceIsNoWrite(t *testing.T) {
	parallel(t)
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP%d", version), func(t *testing.T) {
			t.Parallel()
			silentAnswer(t, version)
		})
	}
}

func silentAnswer(t *testing.T, version int) {
	const bound = 500 * time.Millisecond
	h := build(t, func(p *plan) {
		p.config.WriteTimeout = bound
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(2 * bound)
			w.Header().Set("Content-Type", "text/event-stream")
			for range 2 {
				_, _ = io.WriteString(w, "data:{}\n\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(2 * bound)
			}
		})
	})
	r, client := h.request("POST", textPath, textBody), h.client
	if version == 2 {
		server := secure(t, h.gateway, func(s *http.Server) { s.WriteTimeout = bound })
		r.URL.Scheme, r.URL.Host, client = "https", server.Listener.Addr().String(), server.Client()
		handshake(t, client, server.URL)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(body) != "data:{}\n\ndata:{}\n\n" || resp.ProtoMajor != version {
		t.Errorf("%s: %q, %v", resp.Proto, body, err)
	}
}

// handshake makes the client's connection. The server's write timeout bounds the handshake, which may take longer on a busy machine.
func handshake(t *testing.T, client *http.Client, address string) {
	t.Helper()
	for begun := time.Now(); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
}

// An HTTP/2 stream whose client reads nothing is ended by the deadline, and the connection's other streams go on.
func TestAStreamThatNobodyReadsEnds(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) {
		p.config.WriteTimeout = 200 * time.Millisecond
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for piece := make([]byte, 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
	})
	h.gateway.SetDrainTime(time.Millisecond)
	server := secure(t, h.gateway, func(*http.Server) {})
	r := h.request("POST", textPath, textBody)
	r.URL.Scheme, r.URL.Host = "https", server.Listener.Addr().String()
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	h.records.await(t, 1) // without a byte read
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("an answer that was cut looks whole")
	}
}
