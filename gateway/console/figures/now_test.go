package figures

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

func TestNow(t *testing.T) {
	s := newStand(t, false)
	for i := range 150 {
		s.note("search", fmt.Sprint("a", i), 200, "")
		s.Move(400 * time.Millisecond)
	}
	s.note("shop", "b", 429, "admit/rate")
	s.note("shop", "c", 500, "")
	s.note("shop", "d", 503, "admit/state")
	s.note("shop", "o", 503, "admit/account")
	s.note("", "e", 401, "authenticate/key")
	s.use("search", "m", policy.EndpointText, true, limit.Amounts{1, 400, 0, 5})
	s.use("shop", "m", policy.EndpointText, false, limit.Amounts{1, 1, 0, 9})
	s.Move(30 * time.Second)

	n, err := s.figures.Now(t.Context(), operator, false)
	if err != nil {
		t.Fatal(err)
	}
	steps := n.Steps
	n.Steps = nil
	want := Now{
		At: s.Now(), Step: time.Minute, Overhead: 400 * time.Microsecond, Rate: 2.5, Refused: 4,
		Today:  Use{limit.Amounts{2, 401, 0, 14}, limit.Amounts{1, 400, 0, 5}},
		Faults: []Fault{{Kind: "process", Subject: "redis", Text: "away"}},
		Teams: []TeamLine{
			{"shop", TeamUse{Today: Use{Used: limit.Amounts{1, 1, 0, 9}}, Refused: 3}},
			{"search", TeamUse{Today: Use{limit.Amounts{1, 400, 0, 5}, limit.Amounts{1, 400, 0, 5}}}},
		},
		Known: 3,
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
	if len(steps) != 60 || steps[58].Requests != 150 || !steps[59].At.Equal(s.Now().Truncate(time.Minute)) ||
		steps[59] != (Step{At: steps[59].At, Requests: 5, Refused: 4, Failed: 1}) {
		t.Errorf("%d steps, the last ones %+v", len(steps), steps[58:])
	}

	own, err := s.figures.Now(t.Context(), member, true)
	if err != nil {
		t.Fatal(err)
	}
	last := own.Steps[95]
	if len(own.Steps) != 96 || last.Requests != 150 || last.Refused != 0 || own.Step != 15*time.Minute {
		t.Errorf("a member's day has %d steps, the last %+v", len(own.Steps), last)
	}
	if len(own.Teams) != 1 || own.Teams[0].ID != "search" || own.Known != 1 || own.Refused != 0 || own.Faults != nil ||
		own.Today != want.Teams[1].Today {
		t.Errorf("a member sees %+v", own)
	}
	if nobody, err := s.figures.Now(t.Context(), access.Person{}, false); err != nil || nobody.Known != 0 || nobody.Rate != 0 ||
		len(nobody.Teams) != 0 {
		t.Errorf("nobody sees %+v, %v", nobody, err)
	}
}

func TestLines(t *testing.T) {
	s := newStand(t, false)
	s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, 900, 0, 5})
	lines, err := s.figures.Lines(t.Context(), operator)
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v; want 3", len(lines), err)
	}
	if n := lines["search"].Nearest; n == nil || n.Name != "tokens" || n.Percent != 100 {
		t.Errorf("search, whose rate is used up: %+v", n)
	}
	s.Move(2 * time.Minute)
	if lines, err = s.figures.Lines(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	if n := lines["search"].Nearest; lines["search"].Today.Used[limit.Tokens] != 900 || n == nil || n.Name != "tokens-day" || n.Left != 100 ||
		n.Percent != 90 {
		t.Errorf("search: %+v, %+v", lines["search"], n)
	}
	if n := lines["shop"].Nearest; n != nil {
		t.Errorf("a team without a limit has the nearest %+v", n)
	}
	if n := lines["ads"].Nearest; n == nil || n.Left != 10 || n.Percent != 0 {
		t.Errorf("a team that used nothing: %+v", n)
	}
	if own, err := s.figures.Lines(t.Context(), member); err != nil || len(own) != 1 {
		t.Errorf("a member sees %d lines, %v", len(own), err)
	}
}

func TestTeam(t *testing.T) {
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		s.Move(-24 * time.Hour)
		s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, 300, 0, 7})
		s.Move(24 * time.Hour)
		s.use("search", "m", policy.EndpointText, true, limit.Amounts{1, 350, 0, 5})
		s.note("search", "a", 429, "admit/rate")
		s.note("search", "b", 429, "admit/quota")
		s.note("search", "c", 429, "admit/rate")
		s.note("search", "d", 502, "forward/unreachable")
		s.note("search", "e", 500, "")
		s.note("search", "f", 400, "") // the service's own refusal
		s.claim("search", "t1", false)
		f, err := s.figures.Team(t.Context(), member, "search")
		if err != nil {
			t.Fatal(err)
		}
		direct, err := s.balances.Look(t.Context(), s.file.Team("search"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(direct, f.Report); diff != "" {
			t.Errorf("redis=%v: not the figures of /sluice/v1/usage:\n%s", redis, diff)
		}
		effective := names(f.Effective, func(i int) string { return f.Report.Limits[i].Name() })
		if effective != "tokens spend-month" {
			t.Errorf("redis=%v: in effect are %s, want the rate of tokens and the quota of spend", redis, effective)
		}
		if len(f.Days) != 30 || f.Days[29].Name != "2026-11-21" || f.Days[29].Estimated[limit.Tokens] != 350 ||
			f.Days[28].Used[limit.Spend] != 7 || f.Days[27].Use != (Use{}) {
			t.Errorf("redis=%v: the days end with %+v", redis, f.Days[27:])
		}
		if diff := cmp.Diff([]Refusal{{"admit/rate", 2}, {"admit/quota", 1}, {"forward/unreachable", 1}}, f.Refusals); diff != "" {
			t.Error(diff)
		}
		if f.Failed != 1 {
			t.Errorf("redis=%v: %d requests failed at the service without a refusal, want 1", redis, f.Failed)
		}
		if f.Concurrent != (Count{2, 4}) || f.OpenTasks != (Count{0, 5}) || len(f.Tasks) != 1 || f.Tasks[0].ID != "t1" {
			t.Errorf("redis=%v: %+v, %+v, %+v", redis, f.Concurrent, f.OpenTasks, f.Tasks)
		}
		for _, id := range []string{"shop", "none"} {
			if _, err := s.figures.Team(t.Context(), member, id); !errors.Is(err, ErrAbsent) {
				t.Errorf("a member asks for %s: %v, want ErrAbsent", id, err)
			}
		}
	}
}

// TestNowTellsTheHouse to those who see all teams, and no sum of teams has it.
func TestNowTellsTheHouse(t *testing.T) {
	s := newStand(t, true)
	file, err := teams.Parse([]byte("house: {quotas: {requests: {day: 10}}}\n" + someTeams))
	if err != nil {
		t.Fatal(err)
	}
	s.file = file
	hold := &limit.Hold{ID: "a", Team: file.Team("shop"), Outside: limit.OutsideFor(file, "m"), Model: "m", Endpoint: policy.EndpointText,
		Amounts: limit.Amounts{1, 7, 0, 9}, Lease: time.Hour}
	v, err := s.balances.Admit(t.Context(), hold)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	if _, err := s.balances.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: hold.Team, Amounts: hold.Amounts}); err != nil {
		t.Fatal(err)
	}
	n, err := s.figures.Now(t.Context(), operator, false)
	if err != nil || len(n.House) != 1 || n.House[0].Used != 1 || n.House[0].Left != 9 {
		t.Errorf("%+v, %v", n.House, err)
	}
	if n.Today.Used != hold.Amounts || n.Known != 3 {
		t.Errorf("all teams used %v, known are %d", n.Today.Used, n.Known)
	}
	if n, err := s.figures.Now(t.Context(), member, false); err != nil || n.House != nil {
		t.Errorf("a member sees %+v, %v", n.House, err)
	}
}
