package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

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
	all, err := f.redis.Ledger(t.Context(), "", days)
	if err != nil {
		t.Fatal(err)
	}
	if w.trips != 3 {
		t.Errorf("%d round trips, want 3", w.trips)
	}
	at := 0
	for n := range 50 {
		one, err := f.redis.Ledger(t.Context(), fmt.Sprintf("team-%02d", n), days)
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
		_, errOf := f.redis.LedgerOf(t.Context(), []string{name}, days)
		_, errTags := f.redis.TagsOf(t.Context(), []string{name}, days)
		if _, err := f.redis.Ledger(t.Context(), name, days); err != nil || errOf != nil || errTags != nil {
			t.Fatal(err, errOf, errTags)
		}
	}
	f.redis.teams.Each(func(id string, _ *team) { t.Errorf("%s is kept", id) })
}
