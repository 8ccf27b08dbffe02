package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/policy/limit"
)

// ownLimits gives the key of team search limits of its own.
func ownLimits(t *testing.T, h *harness, limits string) {
	t.Helper()
	const before = "  - id: search\n    keys:\n"
	at := strings.Index(h.teamsDoc, before) + len(before)
	end := at + strings.Index(h.teamsDoc[at:], "sha256: ")
	end += strings.IndexByte(h.teamsDoc[end:], '\n')
	h.gateway.SetTeams(parse(t, h.teamsDoc[:end]+"\n        "+limits+h.teamsDoc[end:]))
}

// id is the id of a team's key.
func (h *harness) id(team string) string { return strings.Split(h.keys[team], "_")[1] }

// A refusal by a limit of the key names the key, and whose limit it is in Sluice-Scope; another team's key does not notice.
func TestAKeyHasLimitsOfItsOwn(t *testing.T) {
	for _, tt := range []struct {
		name, limits, row, code, says string
		status                        int
	}{
		{"quota", "quotas: {requests: {day: 1}}", "admit/quota", "Throttling.AllocationQuota", " has 0 left of its quota requests-day of 1", 429},
		{"rate", "rates: {requests: {per: 1h, limit: 1}}", "admit/rate", "Throttling.RateQuota", " has 0 requests left of its rate of 1 per 1h",
			429},
		{"models", "models: [\"llm-none\"]", "inspect/model", "Model.AccessDenied", " may not use the model ", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := build(t)
			ownLimits(t, h, tt.limits)
			got := h.ask("POST", textPath, textBody)
			if tt.status == 429 {
				if got.status != 200 {
					t.Fatalf("the first: %d %s", got.status, got.body)
				}
				h.records.await(t, 1)
				got = h.ask("POST", textPath, textBody)
			}
			got.wants(t, tt.status, tt.row, tt.code)
			if !strings.Contains(got.body, "Key "+h.id("search")+tt.says) || got.header.Get("Sluice-Scope") != "key" {
				t.Errorf("scope %q: %s", got.header.Get("Sluice-Scope"), got.body)
			}
			if other := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]); other.status != 200 {
				t.Errorf("another key: %d %s", other.status, other.body)
			}
		})
	}
}

// At equal waits the key is named before the team; a team's own refusal says so, too.
func TestTheNarrowestLimitIsNamed(t *testing.T) {
	for limits, scope := range map[string]string{"quotas: {requests: {day: 1}}": "key", "quotas: {requests: {day: 9}}": "team"} {
		h := build(t, limited("quotas: {requests: {day: 1}}"))
		ownLimits(t, h, limits)
		h.ask("POST", textPath, textBody)
		h.records.await(t, 1)
		if got := h.ask("POST", textPath, textBody); got.status != 429 || got.header.Get("Sluice-Scope") != scope {
			t.Errorf("%s: %d, scope %q, want %s: %s", limits, got.status, got.header.Get("Sluice-Scope"), scope, got.body)
		}
	}
}

// A team reads its use by key, and what is left of the limits of the key that asks.
func TestUsageOfKeys(t *testing.T) {
	h := build(t)
	if got := h.ask("GET", "/sluice/v1/usage", ""); strings.Contains(got.body, `"keys"`) {
		t.Errorf("a key without limits: %s", got.body)
	}
	ownLimits(t, h, "quotas: {requests: {day: 9}}")
	h.ask("POST", textPath, textBody)
	h.records.await(t, 2)
	var body struct {
		Keys []struct {
			Key, Unit, Period string
			Used, Left        json.Number
		}
		Ledger []limit.Entry
	}
	got := h.ask("GET", "/sluice/v1/usage?days=1&by=key", "")
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if len(body.Keys) != 1 || body.Keys[0].Key != h.id("search") || body.Keys[0].Used != "1" || body.Keys[0].Left != "8" ||
		body.Keys[0].Period != "day" {
		t.Errorf("%+v", body.Keys)
	}
	if len(body.Ledger) == 0 || body.Ledger[0].Key != h.id("search") || body.Ledger[0].Unit != "requests" || body.Ledger[0].Used != "1" ||
		body.Ledger[0].Model != "" {
		t.Errorf("%+v", body.Ledger)
	}
	for query, status := range map[string]int{"days=1&by=key&kinds": 400, "kinds&by=tag": 400, "days=1&by=account&kinds": 200,
		"days=1&kinds": 200} {
		if got := h.ask("GET", "/sluice/v1/usage?"+query, ""); got.status != status ||
			status == 400 && !strings.Contains(got.body, "kinds: given beside by=") {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	if got := h.ask("GET", "/sluice/v1/usage?by=colour", ""); got.status != 400 || !strings.Contains(got.body, "allowed tag, key or account") {
		t.Errorf("%d %s", got.status, got.body)
	}
}
