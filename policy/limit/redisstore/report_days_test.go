package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// days reads days of all teams, and compares them with the rows that reports have.
func (f *form) days(days []int) map[int]limit.DayRows {
	f.Helper()
	got, err := f.redis.Days(f.Context(), limit.ScopeTeam, days)
	if err != nil {
		f.Fatal(err)
	}
	var rows []limit.Row
	for _, of := range got {
		rows = slices.Concat(rows, slices.Concat(of.Teams...))
	}
	limit.SortRows(rows)
	want, err := f.redis.Rows(f.Context(), limit.Query{Days: days})
	if err != nil || !slices.Equal(rows, want) {
		f.Fatalf("days have %+v, want %+v, %v", rows, want, err)
	}
	return got
}

// Days are what the reports have, after each change of any kind: a settlement, its correction, the end of a lease, a manual correction, the
// loss of Redis's memory and an older copy of it. Of what did not change nothing is read again, and the state stays.
func TestDaysAreReadAgainAfterAChange(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	file, err := teams.Parse([]byte("teams: [{id: ads}, {id: search}, {id: shop}]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.redis.List(t.Context(), "ads", "search", "shop"); err != nil {
		t.Fatal(err)
	}
	one := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
	n := 0
	admit := func(team *teams.Team, lease time.Duration) limit.Hold {
		n++
		h := hold(id(n), team, one)
		h.Lease = lease
		f.admit(h)
		return h
	}
	use := func(team *teams.Team, used limit.Amounts) {
		h := admit(team, time.Hour)
		f.settle(f.held(h), team, used, n%2 == 0)
	}
	for _, team := range file.List {
		use(team, one)
	}
	day := limit.CalendarOf(f.clock.Now()).Day
	days := []int{day - 1, day}
	before := f.days(days)
	search := file.Team("search")
	expiring, copied := admit(search, time.Minute), limittest.Copy(t, f.client)
	for about, change := range map[string]func(){
		"a settlement":  func() { use(search, limit.Amounts{limit.Requests: 1, limit.Tokens: 3}) },
		"the same sums": func() { use(search, one) },
		"a correction": func() {
			if _, err := f.redis.Adjust(t.Context(), limit.Correction{ID: "c", Team: "search", Unit: unit.NameTokens, Delta: 5,
				Why: "why"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		change()
		after := f.days(days)
		if after[day].State == before[day].State || after[day-1].State != before[day-1].State {
			t.Errorf("%s: the states %d and %d were %d and %d", about, after[day].State, after[day-1].State, before[day].State, before[day-1].State)
		}
		before = after
	}
	w := &sniffer{sent: map[string]int{}}
	f.client.(*redis.Client).AddHook(w)
	if after, err := f.redis.Days(t.Context(), limit.ScopeTeam, days); err != nil || w.sent["hscan"] != 0 || w.sent["hlen"] != 3 ||
		w.trips != 1 || after[day].State != before[day].State {
		t.Errorf("without a change it took %d round trips, read %d days and asked for %d sizes (%v)", w.trips, w.sent["hscan"], w.sent["hlen"],
			err)
	}
	use(search, one)
	if _, err := f.redis.Days(t.Context(), limit.ScopeTeam, days); err != nil || w.sent["hscan"] != 1 {
		t.Errorf("after a change of one team's day it read %d days (%v)", w.sent["hscan"], err)
	}
	f.clock.Move(2 * time.Minute)
	f.look(search) // the lease ends
	f.days(days)
	f.settle(f.held(expiring), search, limit.Amounts{limit.Requests: 1}, false)
	f.days(days)
	copied()
	f.days(days)
	f.client.FlushDB(context.Background())
	f.days(days)
}

// Of days that are over nothing is read while only today changes; after a change of one of them it is, however it is made.
func TestDaysThatAreOverAreReadAgainOnlyAfterTheyChanged(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team, one := limittest.Team(t), limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
	if err := f.redis.List(t.Context(), team.ID); err != nil {
		t.Fatal(err)
	}
	n := 0
	admit := func(lease time.Duration) limit.Hold {
		n++
		h := hold(id(n), team, one)
		h.Lease = lease
		f.admit(h)
		return h
	}
	yesterday := limit.CalendarOf(f.clock.Now()).Day
	f.settle(f.held(admit(time.Hour)), team, one, false)
	late, batched, expiring := admit(96*time.Hour), admit(96*time.Hour), admit(30*time.Hour)
	f.clock.Move(limit.DayEnds(yesterday).Sub(f.clock.Now()) + overAfter + time.Minute)
	today := limit.CalendarOf(f.clock.Now()).Day
	days := []int{yesterday, today}
	w := &sniffer{sent: map[string]int{}}
	f.client.(*redis.Client).AddHook(w)
	reads := func(about string, want int, change func()) {
		t.Helper()
		change()
		w.sent["hscan"] = 0
		if _, err := f.redis.Days(t.Context(), limit.ScopeTeam, days); err != nil || w.sent["hscan"] != want {
			t.Errorf("%s: %d days were read, want %d (%v)", about, w.sent["hscan"], want, err)
		}
		f.days(days)
	}
	charge := func() { f.settle(f.held(admit(time.Hour)), team, one, false) }
	reads("at first", 1, func() {})
	reads("a charge of today", 1, charge)
	reads("a settlement", 2, func() { f.settle(f.held(late), team, one, false) })
	reads("another charge of today", 1, charge)
	reads("a batch", 2, func() {
		c := &limit.Charge{Held: f.held(batched), Team: team, Amounts: one}
		if got := f.redis.SettleAll(t.Context(), []*limit.Charge{c}, true)[0]; !got.Done || !batchable(c, yesterday) {
			t.Errorf("the batch: %+v", got)
		}
	})
	reads("a correction", 2, func() {
		if _, err := f.redis.Adjust(t.Context(), limit.Correction{ID: "c", Team: team.ID, Day: yesterday, Unit: unit.NameTokens, Delta: 5,
			Why: "why"}); err != nil {
			t.Fatal(err)
		}
	})
	f.clock.Move(30 * time.Hour)
	days = []int{yesterday, today, limit.CalendarOf(f.clock.Now()).Day}
	reads("a charge of the next day, which ends a lease", 3, charge)
	_ = expiring
	reads("nothing for long", 0, func() { f.clock.Move(overKept) })
	reads("a charge after long", 3, charge)
}

// Days of very many rows are returned, and not kept; of others the last few are.
func TestFewDaysAreKept(t *testing.T) {
	k := keptDays{}
	rows := func(n int) *keptDay {
		return &keptDay{DayRows: limit.DayRows{Teams: [][]limit.Row{make([]limit.Row, n)}}}
	}
	for day := range 2 * mostDays {
		k.keep(map[int]*keptDay{20261101 + day: rows(1)})
	}
	if got := slices.Sorted(maps.Keys(k.days)); len(got) != mostDays || got[0] != 20261101+mostDays {
		t.Errorf("the days %v are kept", got)
	}
	k.keep(map[int]*keptDay{20261201: rows(mostKept)})
	if got := fmt.Sprint(slices.Sorted(maps.Keys(k.days))); got != "[20261201]" {
		t.Errorf("the days %v are kept", got)
	}
	k.keep(map[int]*keptDay{20261201: rows(mostKept + 1)})
	if len(k.days) != 0 {
		t.Errorf("%d days are kept", len(k.days))
	}
}
