package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A connection on which the deadline for draining may still be set, because its client left while it was read, is not used
// again, although the answer came whole.
func TestMend16DeadlineOfDrainingEndsTheConnection(t *testing.T) {
	frames := make(stream)
	peers := make(chan string, 2) // the gateway's ends of the connections, request by request
	left, leave := context.WithCancel(t.Context())
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			peers <- r.RemoteAddr
			frames.ServeHTTP(w, r)
		})
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Leaves") != "" { // its end is the test's to choose
					r = r.WithContext(left)
				}
				next.ServeHTTP(w, r)
			})
		}
	})
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable", "X-Leaves", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(resp.Body)
	for n := 1; n <= 2; n++ { // the second is read by itself: the connection's silence is bounded by then
		frames <- n
		for line := ""; !strings.HasPrefix(line, "data:"); {
			if line, err = answer.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave() // when it returns, the deadline is on its way
	close(frames)
	_, _ = io.Copy(io.Discard, answer)
	_ = resp.Body.Close()
	h.records.await(t, 1)
	if got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if first, second := <-peers, <-peers; first == second {
		t.Error("the connection is used again")
	}
}
