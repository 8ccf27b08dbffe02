package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/admin"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Raises stand in the report of the use, each with its quota's own amount, and as one line for each quota.
func TestRaisesInTheReport(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: search, quotas: {images: {day: 500}, spend: {month: 2.5}}}\n  - {id: ads, quotas: " +
		"{images: {day: 7}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	of := func(team string, unit unit.Name, period teams.Period, amount int64, before time.Duration, reason string) teams.Raise {
		return teams.Raise{Team: team, Unit: unit, Period: period, Amount: amount, Until: until.Add(-before), Reason: reason}
	}
	file, _ = file.Raised([]teams.Raise{
		of("ads", "images", "day", 1, 0, "x"), of("search", "images", "day", 500, 0, "launch"),
		of("search", "images", "day", 20, time.Hour, "a\u202eb"), of("search", "spend", "month", teams.Nano/2, 0, "launch"),
	}, until.Add(-2*time.Hour))
	var b strings.Builder
	var report, whole, none admin.UsageReport
	if err := errors.Join(report.AddLimits(t.Context(), file, "search", nil), whole.AddLimits(t.Context(), file, "", nil),
		report.WriteText(&b, admin.ByModel)); err != nil {
		t.Fatal(err)
	}
	want := "\nsearch, images a day: 500 + 20 until 2026-11-22T23:00:00Z, a\\u202eb + 500 until 2026-11-23T00:00:00Z, launch" +
		"\nsearch, spend a month: 2.5 + 0.5 until 2026-11-23T00:00:00Z, launch\n"
	_, text, _ := strings.Cut(b.String(), "\n\n")
	if diff := cmp.Diff(want, "\n"+text); diff != "" {
		t.Error(diff)
	}
	if all := whole.Raises; len(all) != 4 || all[3].Team != "ads" {
		t.Errorf("of all teams: %+v", all)
	}
	b.Reset()
	if err := none.WriteText(&b, admin.ByModel); err != nil || strings.Contains(b.String(), "until") {
		t.Errorf("without raises: %q, %v", b.String(), err)
	}
	w := httptest.NewRecorder()
	handler := admin.New(admin.Deps{Ledger: func(context.Context, limit.Query) ([]limit.Row, error) { return nil, nil },
		Currency: func() unit.Currency { return unit.Currency{} }, Teams: func() *teams.File { return file }, Ready: func() error { return nil }})
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/usage?team=ads", http.NoBody))
	var got admin.UsageReport
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Raises) != 1 || got.Raises[0].Base != "7" ||
		got.Raises[0].Amount != "1" {
		t.Errorf("%v: %s", err, w.Body)
	}
}

// Limits of keys stand in the report with what is left of them, as one line for each; a team whose keys have none is not asked.
func TestLimitsOfKeysInTheReport(t *testing.T) {
	file, err := teams.Parse([]byte(`teams:
  - {id: ads}
  - id: search
    keys: [{id: 7f3k9q2m4x1c, sha256: 4745db43272f9dc36e3bbaaa11fffb19e5f3253580fa5b6092bfbdf53ce96439, quotas: {spend: {month: 2.5}}, rates: {requests: {per: 1m, limit: 60}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var asked string
	inside := func(_ context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error) {
		asked += team.ID + " " + k.String() + " "
		return []limit.Standing{
			{Of: "7f3k9q2m4x1c", Unit: unit.NameRequests, Per: "1m", Limit: 60, Used: 10, Left: 50, Reset: 10 * time.Second},
			{Of: "7f3k9q2m4x1c", Unit: unit.NameSpend, Period: teams.PeriodMonth, Per: "month", Limit: 2_500_000_000, Used: teams.Nano,
				Held: 500_000_000, Left: teams.Nano, Reset: time.Hour},
		}, nil
	}
	handler := admin.New(admin.Deps{
		Ledger:   func(context.Context, limit.Query) ([]limit.Row, error) { return nil, nil },
		Currency: func() unit.Currency { return unit.Currency{} },
		Teams:    func() *teams.File { return file }, Inside: inside, Ready: func() error { return nil },
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/usage", http.NoBody))
	var got admin.UsageReport
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Keys) != 2 || asked != "search key " {
		t.Fatalf("%v, asked of %q: %s", err, asked, w.Body)
	}
	if k := got.Keys[1]; k.Team != "search" || k.Key != "7f3k9q2m4x1c" || k.Left != "1" || k.Held != "0.5" || k.Limit != "2.5" ||
		k.Period != "month" {
		t.Errorf("%+v", k)
	}
	var b strings.Builder
	if err := got.WriteText(&b, admin.ByKey); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"search, key 7f3k9q2m4x1c, requests per 1m: 50 left of 60, 10 used, 0 held, full at " + got.Keys[0].Reset + "\n",
		"search, key 7f3k9q2m4x1c, spend a month: 1 left of 2.5, 1 used, 0.5 held, until " + got.Keys[1].Reset + "\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q: %s", want, b.String())
		}
	}
	handler = admin.New(admin.Deps{
		Ledger:   func(context.Context, limit.Query) ([]limit.Row, error) { return nil, nil },
		Currency: func() unit.Currency { return unit.Currency{} }, Teams: func() *teams.File { return file },
		Inside: func(context.Context, *teams.Team, limit.ScopeKind, time.Time) ([]limit.Standing, error) {
			return nil, errors.New("Redis is away")
		}, Ready: func() error { return nil },
	})
	w = httptest.NewRecorder()
	if handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/usage",
		http.NoBody)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}

// The lines of docs/money.md about what is left of a key's limit and about a raise are those of the command.
func TestTheLinesOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	key := limit.Standing{Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 50, Used: 40, Held: 4, Left: 6, Reset: time.Hour}
	u := admin.UsageReport{
		Keys: []admin.UsageKey{{Team: "search", Key: "7f3k9q2m4x1c", StandingEntry: key.Entry(unit.Nanos, midnight.Add(-time.Hour))}},
		Raises: []admin.UsageRaise{{Team: "search", Unit: unit.NameImages, Period: teams.PeriodDay, Base: "500",
			Raised: limit.Raised{Amount: "500", Until: midnight, Reason: "launch"}}},
	}
	var b strings.Builder
	if err := u.WriteText(&b, admin.ByKey); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, about := range []string{", images a day: 500 + 500 until ", ", key "} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, about) })
		if i < 0 || !strings.Contains(string(page), "`"+lines[i]+"`") {
			t.Errorf("docs/money.md lacks a line with %q of\n%s", about, b.String())
		}
	}
}
