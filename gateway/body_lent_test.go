package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Bodies are read into buffers that other requests had. Each arrives as it was sent, also beside requests that end early: those that
// the service answers before it has read them, that the rules refuse, and whose client leaves. All buffers come back.
func TestBodiesInLentBuffers(t *testing.T) {
	h := build(t, func(p *plan) { p.upstream = http.HandlerFunc(checkLetters) })
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for round := range 6 {
				letter := string(rune('a' + client*6 + round))
				switch round % 3 {
				case 0:
					h.leaveMidway(lettersOf(letter, 2<<20))
				case 1: // answered early, or refused
					h.ask("POST", textPath, lettersOf("early "+letter, 3<<20))
					h.ask("POST", textPath, lettersOf(letter, 2<<20)+"}").wants(t, 400, "inspect/body", "InvalidParameter")
				}
				if got := h.ask("POST", textPath, lettersOf(letter, (2+round%2)<<20)); got.status != http.StatusOK {
					t.Errorf("%s: answered %d %s", letter, got.status, got.body)
				}
			}
		})
	}
	all.Wait()
	h.records.await(t, 4*(2+2*2+6))
	if lent, held := h.gateway.BuffersLent(), h.gateway.BodiesInMemory(); lent != 0 || held != 0 {
		t.Errorf("%d bytes are lent and %d held at the end", lent, held)
	}
}

func lettersOf(letter string, size int) string {
	return strings.Replace(textBody, "rivers", strings.Repeat(letter, size/len(letter)), 1)
}

// checkLetters answers 200 to a body that is the letters of one request.
func checkLetters(w http.ResponseWriter, r *http.Request) {
	first := make([]byte, 1<<10)
	if n, err := io.ReadFull(r.Body, first); err != nil || bytes.Contains(first[:n], []byte("early")) {
		http.Error(w, `{"code":"InternalError","message":"early"}`, http.StatusInternalServerError)
		return
	}
	rest, err := io.ReadAll(r.Body)
	if after := bytes.TrimLeft(rest, string(first[len(first)-1:])); err != nil || !strings.HasSuffix(textBody, string(after)) {
		http.Error(w, `{"code":"InternalError","message":"mixed"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// leaveMidway sends half of a body and leaves.
func (h *harness) leaveMidway(body string) {
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.Error(err)
		return
	}
	_, _ = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", line("POST", textPath, h.keys["search"], "Content-Type: application/json"), len(body), body[:len(body)/2])
	_ = conn.Close()
}
