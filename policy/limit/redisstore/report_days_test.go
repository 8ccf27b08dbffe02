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
)

// days reads days of all teams, and compares them with the rows that reports have.
func (f *form) days(days []int) map[int]limit.DayRows {
	f.Helper()
	got, err := Days(f.Context(), f.redis, limit.ScopeTeam, days)
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
			if _, err := f.redis.Adjust(t.Context(), limit.Correction{ID: "c", Team: "search", Unit: teams.UnitTokens, Delta: 5, Why: "why"}); err != nil {
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
	if after, err := Days(t.Context(), f.redis, limit.ScopeTeam, days); err != nil || w.sent["hscan"] != 0 || w.trips != 1 || after[day].State != before[day].State {
		t.Errorf("without a change it took %d round trips and read %d days (%v)", w.trips, w.sent["hscan"], err)
	}
	use(search, one)
	if _, err := Days(t.Context(), f.redis, limit.ScopeTeam, days); err != nil || w.sent["hscan"] != 1 {
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
