package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// TestTheLedgerOfAllTeamsTakesThreeRoundTrips: however many teams and days there are. Their rows are those of each team.
func TestTheLedgerOfAllTeamsTakesThreeRoundTrips(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	days := []int{20261101, 20261102, 20261103}
	for n := range 50 {
		team := fmt.Sprintf("team-%02d", n)
		f.client.SAdd(t.Context(), namesKey, team)
		for i, day := range days[:n%4] {
			f.client.HSet(t.Context(), keysOf(team).day(day), "day", day, "m|text|tokens", 7+n+i, "m|text|tokens|estimated", i)
		}
	}
	w := &sniffer{sent: map[string]int{}}
	f.client.(*redis.Client).AddHook(w)
	all, err := f.redis.Rows(t.Context(), limit.Query{Days: days})
	if err != nil {
		t.Fatal(err)
	}
	if w.trips != 3 {
		t.Errorf("%d round trips, want 3", w.trips)
	}
	at := 0
	for n := range 50 {
		one, err := f.redis.Rows(t.Context(), limit.QueryOf(fmt.Sprintf("team-%02d", n), days, limit.ScopeTeam))
		if err != nil || len(one) != n%4 {
			t.Fatalf("team %d has %d rows, %v; want %d", n, len(one), err, n%4)
		}
		for _, row := range one {
			if at >= len(all) || all[at] != row {
				t.Fatalf("row %d of all teams is not %+v", at, row)
			}
			at++
		}
	}
	if at != len(all) {
		t.Errorf("%d rows of all teams, want %d", len(all), at)
	}
}

// TestReadingTheLedgerOfNoTeamKeepsNothing: a viewer of the console may ask for any name, again and again.
func TestReadingTheLedgerOfNoTeamKeepsNothing(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	days := []int{20261101}
	for n := range 3 {
		name := fmt.Sprint("nobody-", n)
		for _, by := range []limit.ScopeKind{limit.ScopeTeam, limit.ScopeTag, limit.ScopeKey} {
			if _, err := f.redis.Rows(t.Context(), limit.QueryOf(name, days, by)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.redis.teams.Each(func(id string, _ *team) { t.Errorf("%s is kept", id) })
}
