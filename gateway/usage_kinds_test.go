package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLedgerByKind: with kinds a team reads its ledger by what each item of the bill was for: the requests of a row, then the quantity,
// price and money of each kind, which together are the row's. Without it the rows are as before, and another team's stay unseen.
func TestLedgerByKind(t *testing.T) {
	const answer = `{"output":{"text":"Hi","finish_reason":"stop"},"request_id":"r",` +
		`"usage":{"input_tokens":100,"output_tokens":10,"cached_tokens":60,"output_tokens_details":{"reasoning_tokens":7}}}`
	clock := &handClock{at: time.Now()}
	day := dayFrom(clock.now())
	_, billed := billing(kindPrices)
	h := build(t, says(200, "application/json", answer, nil), billed, func(p *plan) { p.now = clock.now })
	var want []string
	for n := range 2 {
		if n > 0 {
			clock.move(24 * time.Hour)
		}
		for range n + 1 {
			h.ask("POST", textPath, textBody)
		}
		head := fmt.Sprintf(`{"day":%q,"model":"llm-max","endpoint":"text",`, day(n))
		want = append(want, fmt.Sprintf(`%s"unit":"requests","used":%d,"estimated":0}`, head, n+1))
		for _, k := range []struct {
			kind         string
			tokens       int
			price, spend string // the spend of one request and of two
		}{{"input", 40, "1000", "0.04 0.08"}, {"cached", 60, "200", "0.012 0.024"}, {"output", 3, "2000", "0.006 0.012"},
			{"thinking", 7, "4000", "0.028 0.056"}} {
			want = append(want, fmt.Sprintf(`%s"kind":%q,"unit":"tokens","used":%d,"estimated":0,"price":%s,"spend":%s,"estimated_spend":0}`,
				head, k.kind, k.tokens*(n+1), k.price, strings.Fields(k.spend)[n]))
		}
	}
	h.records.await(t, 3)
	for query, want := range map[string][]string{"?days=30&kinds": want, "?kinds&days=1": want[5:]} {
		got := h.ask("GET", "/sluice/v1/usage"+query, "")
		if end := `"ledger":[` + strings.Join(want, ",") + `]}`; got.status != 200 || !strings.HasSuffix(got.body, end) {
			t.Errorf("%s: %d %s\nends not with\n%s", query, got.status, got.body, end)
		}
	}
	if rows, _ := h.ledgerOf(t, "search", "?days=30"); len(rows) != 6 {
		t.Errorf("without kinds: %q", rows)
	}
	if got := h.ask("GET", "/sluice/v1/usage?days=30&kinds", "", "Authorization", "Bearer "+h.keys["shop"]); !strings.Contains(got.body,
		`"ledger":[]`) {
		t.Errorf("another team: %s", got.body)
	}
	if got := h.ask("GET", "/sluice/v1/usage?kinds", ""); strings.Contains(got.body, "ledger") {
		t.Errorf("kinds without days: %s", got.body)
	}
}
