package limit

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// One to eight replicas without Redis, each with its share, crash and come back at any moment. In any window all
// together admit no more than the bucket and the rate; a crash costs only the rest of its share.
func TestSharesOfReplicas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(1, 8).Draw(rt, "replicas")
		clock := limittest.NewClock()
		r := teams.Rate{Unit: unit.NameRequests, Per: time.Second, PerText: "1s", Limit: 40,
			Burst: int64(rapid.IntRange(count, 80).Draw(rt, "burst"))}
		share := Terms{Scope: Scope{Set: true, Rated: true, Rates: [RateCount]teams.Rate{shareOf(r, int64(count))}}}
		for q := range share.Quotas {
			share.Quotas[q] = None
		}
		share.Tasks = None
		team := &teams.Team{ID: "search"}
		start := func(dry bool) *Memory {
			m := NewMemory(clock.Now)
			m.dry.Store(dry) // a process that starts without Redis starts with an empty bucket
			return m
		}
		members := make([]*Memory, count)
		for i := range members {
			members[i] = start(false)
		}
		type arrival struct{ at time.Time }
		var admittedAt []arrival
		for n := range rapid.IntRange(1, 400).Draw(rt, "arrivals") {
			i := rapid.IntRange(0, count-1).Draw(rt, "replica")
			switch rapid.IntRange(0, 19).Draw(rt, "event") {
			case 0:
				members[i] = start(true)
			case 1, 2, 3:
				clock.Move(time.Duration(rapid.IntRange(1, 300).Draw(rt, "ms")) * time.Millisecond)
			default:
				h := Hold{ID: strconv.Itoa(n), Team: team, Amounts: Amounts{Requests: 1}, Lease: time.Hour}
				if s, err := members[i].Place(&h, &share); err != nil {
					rt.Fatal(err)
				} else if s.Outcome == Admitted {
					admittedAt = append(admittedAt, arrival{clock.Now()})
				}
			}
		}
		for i, from := range admittedAt {
			for j := i; j < len(admittedAt); j++ {
				window := admittedAt[j].at.Sub(from.at)
				if n, bound := float64(j-i+1), float64(r.Burst)+40*window.Seconds()+1e-6; n > bound {
					rt.Fatalf("%v admitted in %v, the bound is %v", n, window, bound)
				}
			}
		}
	})
}

// sharedTeam is a team of one rate, and a hold of it.
func sharedTeam(unit unit.Name, rate int64, amounts Amounts) (*Hold, Terms) {
	team := &teams.Team{ID: "search", Rates: []teams.Rate{{Unit: unit, Per: time.Minute, PerText: "1m", Limit: rate, Burst: rate}}}
	return &Hold{ID: "h", Team: team, Amounts: amounts, Lease: time.Hour}, TermsOf(team)
}

// A share admits an estimate of tokens that is larger than its bucket: it holds a quarter of the bucket for it, and one at least.
func TestAShareCutsAnEstimateOfTokens(t *testing.T) {
	for _, tt := range []struct{ limit, asks, holds int64 }{{8000, 9000, 1000}, {8000, 1000, 1000}, {8000, 10, 10}, {4, 10, 1}} {
		r := NewShares(func() int { return 2 }, limittest.NewClock().Now)
		r.Opened()
		h, terms := sharedTeam(unit.NameTokens, tt.limit, Amounts{Requests: 1, Tokens: tt.asks})
		v := r.Admit(h, &terms, &State{}, false)
		if v.Held == nil || v.Held.Amounts[Tokens] != tt.holds {
			t.Errorf("%d tokens of %d for two replicas: held %+v, want %d", tt.asks, tt.limit, v.Held, tt.holds)
		}
	}
}

// An allowance covers open tasks, too: what the team has open by its last known state refuses only a task that none covers.
func TestACoveredTaskIsAdmittedThoughAllAreOpen(t *testing.T) {
	for _, covered := range []bool{true, false} {
		r := NewShares(func() int { return 1 }, limittest.NewClock().Now)
		r.Opened()
		h, terms := sharedTeam(unit.NameImages, 100, Amounts{Requests: 1, Images: 1})
		h.Task, terms.Tasks = true, 3
		if v := r.Admit(h, &terms, &State{Tasks: 3}, covered); (v.Held != nil) != covered || !covered && v.Reason != ReasonTasks {
			t.Errorf("covered %v: held %+v, refused by %q", covered, v.Held, v.Reason)
		}
	}
}

// Replicas may start between a request's admission by Redis and its settlement. Each then has its smaller share of the rates, however many
// requests it settles.
func TestAShareFollowsTheNumberOfReplicas(t *testing.T) {
	clock, replicas := limittest.NewClock(), 1
	r := NewShares(func() int { return replicas }, clock.Now)
	r.Opened()
	h, terms := sharedTeam(unit.NameRequests, 600, Amounts{Requests: 1})
	placed := Held{ID: h.ID, Team: h.Team.ID, Amounts: h.Amounts, Rates: terms.RateSet()}
	r.Debit(h, &placed)
	replicas = 3
	r.Settle(&Charge{Held: &placed, Team: h.Team, Amounts: h.Amounts})
	admitted := 0
	for range 600 { // a minute
		var running []*Held
		for v := r.Admit(h, &terms, &State{}, false); v.Held != nil; v = r.Admit(h, &terms, &State{}, false) {
			running = append(running, v.Held)
		}
		for _, held := range running {
			r.Settle(&Charge{Held: held, Team: h.Team, Amounts: h.Amounts})
		}
		admitted += len(running)
		clock.Move(100 * time.Millisecond)
	}
	if admitted < 395 || admitted > 400 {
		t.Errorf("in a minute it admitted %d requests, want 400: a third of 600 at once, and of 600 a minute", admitted)
	}
}

// A request that the upstream account refuses costs its team nothing.
func TestARefusalByTheAccountGivesTheTeamsRateBack(t *testing.T) {
	r := NewShares(func() int { return 1 }, limittest.NewClock().Now)
	r.Opened()
	h, terms := sharedTeam(unit.NameImages, 100, Amounts{Requests: 1, Images: 3})
	h.Outside = OutsideFor(&teams.File{Account: []teams.AccountLimit{
		{Rates: []teams.Rate{{Unit: unit.NameImages, Per: time.Hour, PerText: "1h", Limit: 4, Burst: 4}}}}}, "m")
	if v := r.Admit(h, &terms, &State{}, false); v.Held == nil {
		t.Fatalf("%+v", v)
	}
	if v := r.Admit(h, &terms, &State{}, false); v.Held != nil || v.Reason != ReasonAccount {
		t.Fatalf("%+v", v)
	}
	if n := r.Missing("search", ScopeTeam, "")[Images]; n != 3 {
		t.Errorf("%d images are taken from the team's rate, want the 3 of the request that was admitted", n)
	}
}

// Without Redis, too, the account's rate is named if it refuses for longer than the team's; to look takes nothing.
func TestTheLongestWaitWithoutRedis(t *testing.T) {
	r := NewShares(func() int { return 1 }, limittest.NewClock().Now)
	r.Opened()
	h, terms := sharedTeam(unit.NameImages, 3, Amounts{Requests: 1, Images: 3})
	h.Outside = OutsideFor(&teams.File{Account: []teams.AccountLimit{
		{Rates: []teams.Rate{{Unit: unit.NameImages, Per: 100 * time.Hour, PerText: "100h", Limit: 4, Burst: 4}}}}}, "m")
	for range 2 {
		if rate, wait := r.LookOutside(h, &terms); wait != 0 {
			t.Fatalf("%+v for %v", rate, wait)
		}
	}
	if v := r.Admit(h, &terms, &State{}, false); v.Held == nil {
		t.Fatalf("%+v", v)
	}
	v := r.Admit(h, &terms, &State{}, false)
	rate, wait := r.LookOutside(h, &terms)
	if v.Reason != ReasonRate || wait <= v.Wait {
		t.Fatalf("%+v, and the account for %v", v, wait)
	}
	if longer := v.OrOutside(rate, wait, h); longer.Reason != ReasonAccount || longer.Wait != wait || longer.Fault.Per != "100h" {
		t.Errorf("%+v", longer)
	}
	if same := v.OrOutside(rate, v.Wait, h); same.Reason != ReasonRate {
		t.Errorf("of equal waits the team's is named: %+v", same)
	}
	v.Fault.Scope = ScopeHouse
	if same := v.OrOutside(rate, v.Wait, h); same.Reason != ReasonAccount {
		t.Errorf("of equal waits the account's comes before the house's: %+v", same)
	}
}

// A limit of the account without models counts every model.
func TestWhichLimitsOfTheAccountApply(t *testing.T) {
	file, err := teams.Parse([]byte("account:\n  - {requests: {per: 1s, limit: 9}}\n  - {models: [\"llm-*\"], requests: {per: 1s, limit: " +
		"5}}\nteams:\n  - id: search\n"))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string][]int64{"llm-max": {9, 5}, "gen2.6-image": {9}} {
		var got []int64
		for _, l := range OutsideFor(&teams.File{Account: file.Account}, model) {
			got = append(got, l.Rates[Requests].Limit)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %s count the limits %v, want %v", model, got, want)
		}
	}
}
