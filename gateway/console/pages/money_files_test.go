package pages_test

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// TestABill as FOCUS is a file of the teams that the person sees, and the page links to it.
func TestABill(t *testing.T) {
	g := day(12)
	member := access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
	for _, tt := range []struct {
		about, path string
		p           access.Person
		status      int
		bills       int // lines without the heads
	}{
		{"an operator", "/focus.csv", operator, 200, 12},
		{"a viewer, one team", "/focus.csv?team=ads", access.Person{Role: access.Viewer}, 200, 1},
		{"a member", "/focus.csv?from=2026-11-01&to=2026-11-22", member, 200, 1},
		{"without a login", "/focus.csv", access.Person{}, 400, 0},
		{"a day that is none", "/focus.csv?from=zzz", operator, 400, 0},
	} {
		w := get(t, g.handler(tt.p), tt.path)
		if w.Code != tt.status {
			t.Errorf("%s: %d, want %d", tt.about, w.Code, tt.status)
		}
		if w.Code != http.StatusOK {
			continue
		}
		rows, err := csv.NewReader(w.Body).ReadAll()
		if err != nil || len(rows) != 1+tt.bills || rows[0][0] != "BilledCost" || rows[1][24] != "'=llm" || rows[1][21] != "acme" {
			t.Errorf("%s: %v, %q", tt.about, err, rows)
		}
		if name := w.Header().Get("Content-Disposition"); name != `attachment; filename="sluice-focus-2026-11-01-2026-11-22.csv"` {
			t.Errorf("%s: %s", tt.about, name)
		}
	}
	linked := func(g *gallery, currency string) (list []string) {
		deps := g.deps()
		deps.Currency = func() unit.Currency { return unit.Currency{Word: currency} }
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/money?team=search&by=model", http.NoBody)
		pages.New(deps).ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
		for _, a := range all(parse(t, w), "a") {
			if strings.HasPrefix(attribute(a, "href"), "/focus.csv") {
				list = append(list, attribute(a, "href"))
			}
		}
		return list
	}
	if got := linked(g, "CNY"); len(got) != 1 || got[0] != "/focus.csv?from=2026-11-01&team=search&to=2026-11-22" {
		t.Errorf("the page has the links %q", got)
	}
	if got := linked(g, "credits"); got != nil {
		t.Errorf("a page without a currency has the links %q", got)
	}
}

// TestABillIsWholeOrNone: an error before the first byte has a status, a later one cuts the answer.
func TestABillIsWholeOrNone(t *testing.T) {
	g := day(1000)
	g.refuse = &teams.Problem{Code: teams.CodeAway, Text: "Redis is away"}
	if w := get(t, g.handler(operator), "/focus.csv"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Disposition") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	g.refuse.Field = "later"
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panicked with %v", p)
		}
	}()
	get(t, g.handler(operator), "/focus.csv")
	t.Error("a bill that is not whole ended like one that is")
}
