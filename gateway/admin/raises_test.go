package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/admin"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Raises stand in the report of the use, each with its quota's own amount, and as one line for each quota.
func TestRaisesInTheReport(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: search, quotas: {images: {day: 500}, spend: {month: 2.5}}}\n  - {id: ads, quotas: {images: {day: 7}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	of := func(team string, unit teams.Unit, period teams.Period, amount int64, before time.Duration, reason string) teams.Raise {
		return teams.Raise{Team: team, Unit: unit, Period: period, Amount: amount, Until: until.Add(-before), Reason: reason}
	}
	file, _ = file.Raised([]teams.Raise{
		of("ads", "images", "day", 1, 0, "x"), of("search", "images", "day", 500, 0, "launch"), of("search", "images", "day", 20, time.Hour, "a\u202eb"),
		of("search", "spend", "month", teams.Nano/2, 0, "launch"),
	}, until.Add(-2*time.Hour))
	var b strings.Builder
	report := admin.UsageReport{Raises: admin.UsageRaises(file, "search")}
	if err := report.WriteRaises(&b); err != nil {
		t.Fatal(err)
	}
	want := "\nsearch, images a day: 500 + 20 until 2026-11-22T23:00:00Z, a\\u202eb + 500 until 2026-11-23T00:00:00Z, launch" +
		"\nsearch, spend a month: 2.5 + 0.5 until 2026-11-23T00:00:00Z, launch\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if all := admin.UsageRaises(file, ""); len(all) != 4 || all[3].Team != "ads" {
		t.Errorf("of all teams: %+v", all)
	}
	b.Reset()
	if err := (admin.UsageReport{}).WriteRaises(&b); err != nil || b.String() != "" {
		t.Errorf("without raises: %q, %v", b.String(), err)
	}
	w := httptest.NewRecorder()
	handler := admin.New(admin.Deps{Ledger: func(context.Context, limit.Query) ([]limit.Row, error) { return nil, nil }, Currency: func() string { return "" }, Teams: func() *teams.File { return file }, Ready: func() error { return nil }})
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/usage?team=ads", http.NoBody))
	var got admin.UsageReport
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Raises) != 1 || got.Raises[0].Base != "7" || got.Raises[0].Amount != "1" {
		t.Errorf("%v: %s", err, w.Body)
	}
}
