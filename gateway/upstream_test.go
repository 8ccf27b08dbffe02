package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Upstream's headers about itself are passed on to teams, with the gateway's key in them covered.
func TestUpstreamsHeadersAreRelayedAndCovered(t *testing.T) {
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Retry-After", "X-Request-Id"} {
				w.Header().Set(name, "7 "+upstreamKey)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":"Throttling.RateQuota","message":"m"}`)
		})
	})
	for _, got := range []reading{h.ask("POST", textPath, textBody), h.ask("POST", imagePath, imageBody, async...)} {
		for _, name := range []string{"Retry-After", "X-Request-Id"} {
			if value := got.header.Get(name); value != "7 "+strings.Repeat("*", len(upstreamKey)) {
				t.Errorf("%d with %s %q", got.status, name, value)
			}
		}
	}
}
