package placement_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/placement"
	"sluice/gateway/turn"
	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// poolOf has accounts with these lines of an accounts file; none: there is no file.
func poolOf(t *testing.T, lines ...string) (*accounts.Pool, *limittest.Clock) {
	t.Helper()
	return poolThatTells(t, nil, lines...)
}

// poolThatTells is poolOf; back is called when an account may be asked earlier than was known.
func poolThatTells(t *testing.T, back func(string), lines ...string) (*accounts.Pool, *limittest.Clock) {
	t.Helper()
	set := accounts.Main("sk-main")
	if len(lines) > 0 {
		file, err := teams.ParseAccounts([]byte("accounts:\n  - {key_file: /key, " + strings.Join(lines, "}\n  - {key_file: /key, ") + "}\n"))
		if err != nil {
			t.Fatal(err)
		}
		set = accounts.Set{File: file, Keys: map[string]upstream.Secret{}}
		for _, a := range file.List {
			set.Keys[a.ID] = upstream.Secret("sk-" + a.ID)
		}
	}
	clock := limittest.NewClock()
	r := accounts.New(accounts.Config{
		Base: &url.URL{Scheme: "http", Host: "service.example", Path: "/api/v1"}, Back: back, Now: clock.Now,
		Logger: slog.New(slog.DiscardHandler),
	}, set)
	t.Cleanup(r.Close)
	return r, clock
}

var (
	want = account.Want{Model: "m", Team: "search"}
	team = &teams.Team{ID: "search"}
)

// Verdicts of accounts, and of the team.
var (
	room   = limit.Verdict{Held: new(limit.Held)}
	never  = limit.Verdict{Reason: limit.ReasonNever, Fault: limit.Standing{Scope: limit.ScopeAccount}}
	strict = limit.Verdict{Reason: limit.ReasonRate, Fault: limit.Standing{Unit: "requests"}, Wait: 7 * time.Second}
	empty  = limit.Verdict{Reason: limit.ReasonQuota, Fault: limit.Standing{Unit: "requests", Period: teams.PeriodDay}, Wait: time.Hour}
)

func full(wait time.Duration) limit.Verdict {
	return limit.Verdict{Reason: limit.ReasonAccount, Fault: limit.Standing{Unit: "requests", Scope: limit.ScopeAccount}, Wait: wait}
}

func spent(wait time.Duration) limit.Verdict {
	return limit.Verdict{Reason: limit.ReasonAccount, Fault: limit.Standing{Unit: "requests", Period: teams.PeriodDay,
		Scope: limit.ScopeAccount}, Wait: wait}
}

var (
	errAway   = errors.New("away")
	throttled = account.Answer{Sent: true, Complete: true, Status: 429, Code: "Throttling", RetryAfter: 10 * time.Second}
	refused   = account.Answer{Sent: true, Complete: true, Status: 401}
)

// A request is held on the first account that has room. Else the refusal is the one with the shortest wait; what is in the way at each is
// said.
func TestSearch(t *testing.T) {
	three := []string{"id: a, weight: 1000", "id: b", "id: c, weight: 0"}
	for name, tt := range map[string]struct {
		lines   []string
		answers map[string]limit.Verdict // by account; none: an error
		ill     map[string]account.Answer
		awaited turn.Awaited
		asked   string
		result  string
		refused string
	}{
		"room": {lines: three, answers: map[string]limit.Verdict{"a": room}, asked: "a", result: "held on a"},
		"room at the second": {lines: three, answers: map[string]limit.Verdict{"a": full(time.Second), "b": room}, asked: "a b",
			result: "held on b"},
		"others wait at the first": {lines: three, answers: map[string]limit.Verdict{"b": room}, awaited: turn.Awaited{"a": time.Minute},
			asked: "b", result: "held on b"},
		"others wait, the second full": {lines: three, answers: map[string]limit.Verdict{"b": full(time.Second)},
			awaited: turn.Awaited{"a": time.Minute}, asked: "b", result: "account 1s", refused: "b 1s"},
		"both full": {lines: three, answers: map[string]limit.Verdict{"a": full(3 * time.Second), "b": full(2 * time.Second)},
			asked: "a b", result: "account 2s", refused: "a 3s, b 2s"},
		"a quota has room first": {lines: three, answers: map[string]limit.Verdict{"a": spent(time.Second), "b": full(2 * time.Second)},
			asked: "a b", result: "account 1s", refused: "a 1s closed, b 2s"},
		"one can never": {lines: three, answers: map[string]limit.Verdict{"a": never, "b": full(2 * time.Second)}, asked: "a b",
			result: "account 2s", refused: "a 0s closed, b 2s"},
		"none ever can": {lines: three, answers: map[string]limit.Verdict{"a": never, "b": never}, asked: "a b",
			result: "never 0s", refused: "a 0s closed, b 0s closed"},
		"one is not known": {lines: three, answers: map[string]limit.Verdict{"b": room}, asked: "a b", result: "held on b"},
		"one is not known, one full": {lines: three, answers: map[string]limit.Verdict{"b": full(2 * time.Second)}, asked: "a b",
			result: "away", refused: "a 1s closed, b 2s"},
		"one is not known, one full for a moment": {lines: three, answers: map[string]limit.Verdict{"b": full(time.Second / 2)}, asked: "a b",
			result: "account 500ms", refused: "a 1s closed, b 500ms"},
		"one is not known, one spent": {lines: three, answers: map[string]limit.Verdict{"b": spent(600 * time.Hour)}, asked: "a b",
			result: "away", refused: "a 1s closed, b 600h0m0s closed"},
		"one is not known, one cools": {lines: three, ill: map[string]account.Answer{"b": throttled}, asked: "a", result: "away",
			refused: "a 1s closed, b 9s"},
		"one is not known, one is out": {lines: three, ill: map[string]account.Answer{"b": refused}, asked: "a", result: "away",
			refused: "a 1s closed, b 59s closed"},
		"one is not known, others wait for one a moment": {lines: three, awaited: turn.Awaited{"b": time.Second / 2}, asked: "a",
			result: "busy 500ms", refused: "a 1s closed"},
		"one can never, one is out": {lines: three, answers: map[string]limit.Verdict{"a": never}, ill: map[string]account.Answer{"b": refused},
			asked: "a", result: "busy 59s", refused: "a 0s closed, b 59s closed"},
		"one is not known, one never": {lines: three, answers: map[string]limit.Verdict{"b": never}, asked: "a b", result: "away",
			refused: "a 1s closed, b 0s closed"},
		"none is known": {lines: three, asked: "a b", result: "away", refused: "a 1s closed, b 1s closed"},
		"the team's rate": {lines: three, answers: map[string]limit.Verdict{"a": strict}, asked: "a", result: "rate 7s",
			refused: "team 7s"},
		"the team's quota": {lines: three, answers: map[string]limit.Verdict{"a": empty}, asked: "a", result: "quota 1h0m0s"},
		"one cools, one is full": {lines: three, answers: map[string]limit.Verdict{"b": full(time.Minute)},
			ill: map[string]account.Answer{"a": throttled}, asked: "b", result: "busy 9s", refused: "b 1m0s, a 9s"},
		"one cools, one is full first": {lines: three, answers: map[string]limit.Verdict{"b": full(time.Second)},
			ill: map[string]account.Answer{"a": throttled}, asked: "b", result: "account 1s", refused: "b 1s, a 9s"},
		"one is out, one cools": {lines: three, ill: map[string]account.Answer{"a": refused, "b": throttled}, result: "busy 9s",
			refused: "a 59s closed, b 9s"},
		"all are out": {lines: three, ill: map[string]account.Answer{"a": refused, "b": refused}, result: "out 59s",
			refused: "a 59s closed, b 59s closed"}, "none serves": {lines: []string{`id: a, models: ["other"]`}, result: "unserved 0s"},
		"the only one": {answers: map[string]limit.Verdict{"main": full(2 * time.Second)}, asked: "main", result: "account 2s",
			refused: "main 2s"}, "the only one is not known": {asked: "main", result: "away", refused: "main 1s closed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := poolOf(t, tt.lines...)
			for id, answer := range tt.ill {
				others := slices.DeleteFunc([]string{"a", "b"}, func(other string) bool { return other == id })
				attempt, _ := r.Now().Choose(account.Want{Model: "m", Team: "search", Tried: others})
				attempt.End(answer)
			}
			clock.Move(time.Second)
			asked, search := find(r, tt.awaited, tt.answers)
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked %s, want %s", got, tt.asked)
			}
			if got := resultOf(&search); got != tt.result {
				t.Errorf("%s, want %s", got, tt.result)
			}
			var list []string
			for _, r := range search.Refused() {
				text := fmt.Sprint(r.Way, " ", r.Wait)
				if r.Way == "" {
					text = fmt.Sprint(r.Scope, " ", r.Wait)
				}
				if r.Closed {
					text += " closed"
				}
				list = append(list, text)
			}
			if got := strings.Join(list, ", "); got != tt.refused && !strings.HasPrefix(tt.result, "held") {
				t.Errorf("in the way are %s, want %s", got, tt.refused)
			}
			inFlight := 0
			for _, s := range r.Standings() {
				inFlight += s.InFlight
			}
			if held := strings.HasPrefix(tt.result, "held"); inFlight > 1 || (inFlight == 1) != held {
				t.Errorf("%d in flight", inFlight)
			}
		})
	}
}

func find(r *accounts.Pool, awaited turn.Awaited, answers map[string]limit.Verdict) (asked []string, search placement.Search) {
	search = placement.New(r.Now(), want, awaited)
	defer func() { search.End() }()
	for on := search.Next(); on != nil; on = search.Next() {
		asked = append(asked, on.ID)
		v, known := answers[on.ID]
		var err error
		if !known {
			err = errAway
		}
		search.Note(&limit.Hold{Team: team, Account: on.Shown(), Model: "m"}, &v, err)
	}
	return asked, search
}

func resultOf(search *placement.Search) string {
	v, hold, err := search.Verdict()
	switch {
	case err != nil:
		return err.Error()
	case v == nil:
		return fmt.Sprint(search.Choice().Refusal, " ", search.Choice().Wait)
	case v.Held != nil:
		return "held on " + hold.Account
	}
	return fmt.Sprint(v.Reason, " ", v.Wait)
}

// Where a probe finds no room, no waiting request is told that the account may be asked: it would probe, and find no room. Where the
// team's own limit refuses it, those of other teams need not wait for the next one.
func TestAProbeWithoutRoomTellsNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		verdict limit.Verdict
		err     error
		told    int
	}{
		"the account's rate is spent":   {full(time.Second), nil, 0},
		"the account's quota is spent":  {spent(time.Hour), nil, 0},
		"it never has so much":          {never, nil, 0},
		"its room is not known":         {limit.Verdict{}, errAway, 0},
		"the team's own rate is spent":  {strict, nil, 1},
		"the team's own quota is spent": {empty, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			r, clock := poolThatTells(t, func(string) { told++ }, "id: a")
			first, _ := r.Now().Choose(want)
			first.End(throttled)
			clock.Move(11 * time.Second)
			search := placement.New(r.Now(), want, nil)
			on := search.Next()
			if on == nil || !on.Probes() {
				t.Fatal("it does not probe")
			}
			search.Note(&limit.Hold{Team: team, Model: "m"}, &tt.verdict, tt.err)
			search.End()
			if told != tt.told {
				t.Errorf("told %d times, want %d", told, tt.told)
			}
			if next, _ := r.Now().Choose(want); !next.Probes() {
				t.Error("the next one does not probe")
			}
		})
	}
}

// A request whose hold panics is counted nowhere.
func TestAPanicEndsTheSearch(t *testing.T) {
	r, _ := poolOf(t, "id: a", "id: b")
	func() {
		defer func() { _ = recover() }()
		search := placement.New(r.Now(), want, nil)
		defer search.End()
		search.Next()
		panic("no hold")
	}()
	for _, s := range r.Standings() {
		if s.InFlight != 0 {
			t.Errorf("%d in flight at %s", s.InFlight, s.ID)
		}
	}
}
