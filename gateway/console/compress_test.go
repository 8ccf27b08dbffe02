package console_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/console"
)

const row = "<tr><th>search</th><td>1,234</td></tr>\n"

// lengthy answers with what compresses well: a page, or events until the client leaves.
func lengthy(more <-chan string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/assets/stream" {
			_, _ = io.WriteString(w, strings.Repeat(row, 500))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		for text := range more {
			_, _ = io.WriteString(w, "data: "+text+"\n\n")
			_ = out.Flush()
		}
	})
}

// What is read comes compressed if the client accepts it; what a POST gets, such as a new key, comes as it is.
func TestWhatIsReadComesCompressed(t *testing.T) {
	h := open(t, false, func(d *console.Deps) { d.Assets = lengthy(nil) })
	for _, tt := range []struct {
		method, accept string
		packed         bool
	}{
		{"GET", "gzip, deflate, br, zstd", true},
		{"GET", "identity", false},
		{"POST", "gzip", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, h.URL+"/assets/page", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", tt.accept)
		resp, err := h.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
		coding := resp.Header.Get("Content-Encoding")
		if packed := coding == "gzip" && len(raw) < 500*len(row)/10; packed != tt.packed || !packed && string(raw) != strings.Repeat(row, 500) {
			t.Errorf("%s with %s: coding %q, %d bytes", tt.method, tt.accept, coding, len(raw))
		}
		if tt.method == "GET" && !strings.Contains(resp.Header.Get("Vary"), "Accept-Encoding") {
			t.Error("a cache may not tell the two forms apart")
		}
	}
}

// Each event of a compressed stream arrives as soon as it is sent.
func TestEventsArriveCompressedAtOnce(t *testing.T) {
	more := make(chan string)
	h := open(t, false, func(d *console.Deps) { d.Assets = lengthy(more) })
	defer close(more)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/assets/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Accept", "text/event-stream")
	go func() { more <- "first" }()
	resp, err := h.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal(resp.Header)
	}
	packed, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	events := bufio.NewReader(packed)
	for _, want := range []string{"first", "second", "third"} {
		if want != "first" {
			more <- want
		}
		line, err := events.ReadString('\n')
		if err != nil || line != "data: "+want+"\n" {
			t.Fatalf("%q %v", line, err)
		}
		_, _ = events.ReadString('\n')
	}
}
