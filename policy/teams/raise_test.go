package teams_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

const raisable = "teams:\n  - {id: search, quotas: {images: {day: 500, month: 9000}, spend: {day: 2.5}}}\n  - {id: ads, quotas: " +
	"{images: {day: 500}}}\n  - id: free\n"

func fileFrom(t tb, text string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhatARaiseMustBe(t *testing.T) {
	in := func(d time.Duration) *time.Time { at := today.Add(d); return &at }
	midnight, month := today.Add(12*time.Hour), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		about string
		team  string
		order teams.RaiseOrder
		until time.Time
		fault string
	}{
		{"until the day's end", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "500", Reason: "launch"}, midnight, ""},
		{"until the month's end", "search", teams.RaiseOrder{Unit: "images", Period: "month", Amount: "1", Reason: "launch"}, month, ""},
		{"until the end, said so", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "500", Until: in(12 * time.Hour),
			Reason: "launch"}, midnight, ""},
		{"until a moment in another zone", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "500",
			Until: at(in(time.Hour).In(time.FixedZone("", 3600))), Reason: "launch"}, today.Add(time.Hour), ""},
		{"money", "search", teams.RaiseOrder{Unit: "spend", Period: "day", Amount: "1.23e-7", Reason: strings.Repeat("ü", 200)}, midnight, ""},
		{"nothing", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "0", Reason: "x"}, midnight,
			`amount: got "0", allowed: a whole number above 0, at most 9007199254740491`},
		{"less", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "-1", Reason: "x"}, midnight,
			`amount: got "-1", allowed: a whole number above 0, at most 9007199254740491`},
		{"no amount", "search", teams.RaiseOrder{Unit: "images", Period: "day", Reason: "x"}, midnight,
			`amount: got "", allowed: a whole number above 0, at most 9007199254740491`},
		{"a part of an image", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "0.5", Reason: "x"}, midnight,
			`amount: got "0.5", allowed: a whole number above 0, at most 9007199254740491`},
		{"more than can be counted", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "9007199254740492", Reason: "x"},
			midnight, `amount: got "9007199254740492", allowed: a whole number above 0, at most 9007199254740491`},
		{"a part of a nano", "search", teams.RaiseOrder{Unit: "spend", Period: "day", Amount: "1e-10", Reason: "x"}, midnight,
			`amount: got "1e-10", allowed: an amount above 0 with at most 9 decimals, at most 9007196.754740991`},
		{"until now", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "1", Until: in(0), Reason: "x"}, midnight,
			"until: got 2026-11-22T12:00:00Z, allowed: after 2026-11-22T12:00:00Z, at most 2026-11-23T00:00:00Z, the end of the day"},
		{"beyond the day", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "1", Until: in(12*time.Hour + time.Nanosecond),
			Reason: "x"}, midnight,
			"until: got 2026-11-23T00:00:00Z, allowed: after 2026-11-22T12:00:00Z, at most 2026-11-23T00:00:00Z, the end of the day"},
		{"beyond the month", "search", teams.RaiseOrder{Unit: "images", Period: "month", Amount: "1", Until: in(240 * time.Hour), Reason: "x"},
			month, "until: got 2026-12-02T12:00:00Z, allowed: after 2026-11-22T12:00:00Z, at most 2026-12-01T00:00:00Z, the end of the month"},
		{"a quota that the team lacks", "search", teams.RaiseOrder{Unit: "tokens", Period: "day", Amount: "1", Reason: "x"}, midnight,
			"unit: got tokens a day, allowed: images a day, images a month or spend a day; only a quota that the team has can be raised"},
		{"a team without quotas", "free", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "1", Reason: "x"}, midnight,
			"unit: got images a day, allowed: none, because the team has no quota; only a quota that the team has can be raised"},
		{"no such unit", "search", teams.RaiseOrder{Unit: "pictures", Period: "day", Amount: "1", Reason: "x"}, midnight,
			`unit: got "pictures", allowed: requests, tokens, images or spend`},
		{"no such period", "search", teams.RaiseOrder{Unit: "images", Period: "week", Amount: "1", Reason: "x"}, midnight,
			`period: got "week", allowed: day or month`},
		{"no reason", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "1", Reason: " "}, midnight,
			"reason: got 0 characters, allowed: 1 to 200 in one line; say why, for the audit"},
		{"a long reason", "search", teams.RaiseOrder{Unit: "images", Period: "day", Amount: "1", Reason: strings.Repeat("x", 201)}, midnight,
			"reason: got 201 characters, allowed: 1 to 200 in one line; say why, for the audit"},
	} {
		made, err := tt.order.Raise("aaaaaaaaaaaa", fileFrom(t, raisable).Team(tt.team), today)
		var problem *teams.Problem
		switch {
		case tt.fault == "" && (err != nil || !made.Until.Equal(tt.until)):
			t.Errorf("%s: until %v, %v", tt.about, made.Until, err)
		case tt.fault != "" && (!errors.As(err, &problem) || problem.Code != teams.CodeUnfit || problem.Error() != tt.fault):
			t.Errorf("%s:\n got %v\nwant %s", tt.about, err, tt.fault)
		}
	}
}

// raiseOf is a raise in force until the day's end.
func raiseOf(id, team string, unit unit.Name, period teams.Period, amount int64, until time.Time) teams.Raise {
	return teams.Raise{ID: id, Team: team, Unit: unit, Period: period, Amount: amount, From: today, Until: until, Reason: "launch"}
}

func TestRaisesAddUp(t *testing.T) {
	later := today.Add(time.Hour)
	all := []teams.Raise{
		raiseOf("b", "search", "images", "day", 20, later),
		raiseOf("a", "search", "images", "day", 500, today.Add(time.Minute)),
		raiseOf("over", "search", "images", "day", 1, today),
		raiseOf("c", "search", "spend", "day", unit.Most, later),
		raiseOf("d", "search", "requests", "day", 9, later), // the team has lost this quota meanwhile
		raiseOf("e", "gone", "images", "day", 9, later),
	}
	file := fileFrom(t, raisable)
	raised, next := file.Raised(all, today)
	search, was := raised.Team("search"), file.Team("search")
	want := []teams.Quota{{Unit: "images", Period: "day", Limit: 1020}, {Unit: "images", Period: "month", Limit: 9000},
		{Unit: "spend", Period: "day", Limit: unit.Most}}
	if diff := cmp.Diff(want, search.Quotas); diff != "" || !next.Equal(today.Add(time.Minute)) {
		t.Errorf("next at %v\n%s", next, diff)
	}
	if list, base := search.RaisesOf("images", "day"); base != 500 || len(list) != 2 || list[0].ID != "a" {
		t.Errorf("of %d: %+v", base, list)
	}
	if list, base := search.RaisesOf("images", "month"); base != 9000 || list != nil {
		t.Errorf("of %d: %+v", base, list)
	}
	if diff := cmp.Diff(was.Quotas, search.Unraised().Quotas); diff != "" || was.Base != nil || was.Quotas[0].Limit != 500 {
		t.Errorf("the team without its raises:\n%s", diff)
	}
	if raised.Team("ads") != file.Team("ads") {
		t.Error("another team is another one")
	}
	raised, next = file.Raised(all, later)
	if raised != file || !next.IsZero() {
		t.Errorf("after all: next at %v", next)
	}
}
