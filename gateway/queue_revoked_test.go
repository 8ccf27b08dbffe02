package gateway_test

import (
	"strings"
	"testing"
)

// A request that waits is refused at once, as a new one would be, if its key is revoked or its team may not do any more what it asks for;
// and then its team has none that waits. Other changes leave it where it is.
func TestWhatWaitsIsRevokedWithItsKey(t *testing.T) {
	for _, tt := range []struct {
		about  string
		change func(doc string) string
		status int
		row    string
	}{
		{"the team is removed", func(doc string) string {
			_, shop, _ := strings.Cut(doc, "  - id: shop")
			return "teams:\n  - id: shop" + shop
		}, 401, "authenticate/key"},
		{"the team is disabled", func(doc string) string {
			return strings.Replace(doc, "id: search", "id: search\n    disabled: true", 1)
		}, 401, "authenticate/key"},
		{"the key is disabled", func(doc string) string { return strings.Replace(doc, "sha256:", "disabled: true\n        sha256:", 1) }, 401,
			"authenticate/key"},
		{"the key is another team's", func(doc string) string { return strings.Replace(doc, "id: search", "id: finder", 1) }, 401,
			"authenticate/key"},
		{"the endpoint is taken away", func(doc string) string {
			return strings.Replace(doc, "id: search", "id: search\n    endpoints: [image]", 1)
		}, 403, "authenticate/endpoint"},
		{"the model is taken away", func(doc string) string {
			return strings.Replace(doc, "id: search", "id: search\n    models: [other]", 1)
		}, 403, "inspect/model"},
		{"another limit", func(doc string) string { return strings.Replace(doc, "limit: 1", "limit: 2", 1) }, 0, ""},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h := build(t, func(p *plan) { p.limits = []string{"rates: {requests: {per: 50s, limit: 1}}"} })
			h.ask("POST", textPath, textBody)
			waits := h.later("POST", textPath, textBody, "Prefer", "wait=60")
			h.awaitWaiting("search", 1)
			h.gateway.SetTeams(parse(t, tt.change(h.teamsDoc)))
			if tt.status == 0 {
				h.awaitWaiting("search", 1)
				h.gateway.BeginStop()
				inTime(t, waits)
				return
			}
			if got := inTime(t, waits); got.status != tt.status || got.header.Get("Sluice-Refusal") != tt.row {
				t.Errorf("%d %v", got.status, got.header)
			}
			h.gateway.SetTeams(parse(t, h.teamsDoc))
			if n := h.waiting("search"); n != 0 {
				t.Errorf("%d wait", n)
			}
		})
	}
}
