package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// TestLedgerOfTheTeamByKind: a team reads what it used by kind, whose lines add up to the rows that it reads without kinds, and no other
// team's.
func TestLedgerOfTheTeamByKind(t *testing.T) {
	clock := &handClock{at: time.Now()}
	noted, billed := billing(kindPrices)
	h := build(t, billed, func(p *plan) { p.now = clock.now })
	thinking := strings.Replace(textBody, `"parameters":{`, `"parameters":{"enable_thinking":true,`, 1)
	sent := 0
	for _, r := range []struct{ path, body, team string }{
		{textPath, textBody, "search"}, {textPath, thinking, "search"}, {multimodalPath, syncBody, "search"}, {textPath, strings.Replace(textBody, "llm-max", "llm-theirs", 1), "shop"},
	} {
		for range 2 {
			if got := h.ask("POST", r.path, r.body, "Authorization", "Bearer "+h.keys[r.team]); got.status != 200 {
				t.Fatalf("%s: %d %s", r.path, got.status, got.body)
			}
			sent++
			clock.move(20 * time.Hour)
		}
	}
	h.records.await(t, sent)
	plain, lines := h.entriesOf(t, "search", "?days=30"), h.entriesOf(t, "search", "?days=30&kinds")
	if diff := cmp.Diff(sums(t, plain), sums(t, lines)); diff != "" {
		t.Errorf("the kinds add up to other rows (-rows +kinds):\n%s", diff)
	}
	kinds := map[string]bool{}
	for _, e := range lines {
		kinds[strings.TrimSpace(e.Kind+" "+e.Size)] = true
		if e.Model == "llm-theirs" {
			t.Errorf("another team's: %+v", e)
		}
	}
	if got := slices.Sorted(maps.Keys(kinds)); len(got) < 5 || !kinds["input"] || !kinds["output"] || !kinds["thinking"] || !kinds["image 1048576"] || !kinds[""] {
		t.Errorf("the kinds are %q; charged was %s", got, noted.written(t))
	}
	if others := h.entriesOf(t, "shop", "?kinds&days=30"); len(others) == 0 || slices.ContainsFunc(others, func(e limit.Entry) bool { return e.Model != "llm-theirs" }) {
		t.Errorf("the other team reads %+v", others)
	}
}

// entriesOf reads a team's ledger.
func (h *harness) entriesOf(t *testing.T, team, query string) []limit.Entry {
	t.Helper()
	var body struct{ Ledger []limit.Entry }
	got := h.ask("GET", "/sluice/v1/usage"+query, "", "Authorization", "Bearer "+h.keys[team])
	if err := json.Unmarshal([]byte(got.body), &body); got.status != 200 || err != nil {
		t.Fatalf("%s: %d %s (%v)", query, got.status, got.body, err)
	}
	return body.Ledger
}

// sums adds up entries by day, model, endpoint and unit; a line of a kind has its spend beside its unit.
func sums(t *testing.T, list []limit.Entry) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	add := func(e *limit.Entry, unit teams.Unit, number json.Number) {
		n, ok := limit.ReadAmount(unit, number.String())
		if !ok {
			t.Fatalf("%s is no number of %s", number, unit)
		}
		all[fmt.Sprint(e.Day, " ", e.Model, " ", e.Endpoint, " ", unit)] += n
	}
	for i := range list {
		e := &list[i]
		if e.Unit != teams.UnitSpend || e.Kind == "" {
			add(e, e.Unit, e.Used)
		}
		if e.Spend != "" {
			add(e, teams.UnitSpend, e.Spend)
		}
	}
	return all
}
