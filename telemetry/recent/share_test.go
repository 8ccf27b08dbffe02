package recent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// flood notes requests, all between two posts.
func flood(c *recent.Collector, clock *limittest.Clock, team string, n int) {
	for i := range n {
		r := done(clock, team, fmt.Sprint(team, "-", i))
		r.Tags = "team=ads"
		c.Note(&r, r.AppendLine(nil))
		clock.Move(40 * time.Microsecond)
	}
}

// kept counts the requests of a filter.
func kept(t *testing.T, s store, f recent.Filter) (n int, newest string) {
	t.Helper()
	f.Size = 1000
	for {
		page := requests(t, s, f)
		if n == 0 && len(page.Requests) > 0 {
			newest = page.Requests[0].ID
		}
		n += len(page.Requests)
		if f.Cursor = page.Next; f.Cursor == "" {
			return n, newest
		}
	}
}

// A flood without a key, or of one team, in one post or in many, leaves the requests of others where they are.
func TestAFloodLeavesTheRequestsOfOthers(t *testing.T) {
	for _, team := range []string{"", "mallory"} {
		for _, posts := range []int{1, 6} {
			if testing.Short() && (posts > 1 || team == "") {
				continue
			}
			t.Run(fmt.Sprintf("%q in %d", team, posts), func(t *testing.T) {
				forms(t, func(t *testing.T, s store, clock *limittest.Clock, client redis.UniversalClient) {
					one, two := collector(s, clock), collector(s, clock)
					flood(one, clock, "ads", 50)
					post(t, one)
					flood(one, clock, "search", 50) // these are posted with the flood
					for range posts {
						flood(one, clock, team, 12_000)
						flood(two, clock, team, 3_000)
						post(t, one)
						post(t, two)
					}
					for _, other := range []string{"ads", "search"} {
						if n, _ := kept(t, s, recent.Filter{Teams: []string{other}}); n != 50 {
							t.Errorf("%d requests of %s are left, want 50", n, other)
						}
					}
					most := recent.MostOfTeam
					if team == "" {
						most = recent.MostUnknown
					}
					if n, newest := kept(t, s, recent.Filter{Teams: []string{team}}); n > most || n < most-10 || newest != fmt.Sprint(team, "-2999") {
						t.Errorf("%d requests of the flood are kept, the newest is %s; want %d and the last", n, newest, most)
					}
					if client == nil {
						return
					}
					if n := client.XLen(t.Context(), "sl1:requests").Val(); n > recent.MostOfTeam+500 {
						t.Errorf("the stream has %d entries", n)
					}
					if n := client.XLen(t.Context(), "sl1:{sl1:requests}:unknown").Val(); n > recent.MostUnknown+50 {
						t.Errorf("the stream of requests without a team has %d entries", n)
					}
				})
			})
		}
	}
}

// The first flood of a team that had no lines before leaves those of the only other team.
func TestTheFirstFloodOfATeamLeavesTheOnlyOther(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		one, two := collector(s, clock), collector(s, clock)
		flood(one, clock, "ads", 50)
		post(t, one)
		flood(two, clock, "mallory", 12_000)
		post(t, two)
		if n, _ := kept(t, s, recent.Filter{Teams: []string{"ads"}}); n != 50 {
			t.Errorf("%d requests of ads are left, want 50", n)
		}
	})
}

// A single team has the whole list; the lines without a team do not count as another's.
func TestATeamAloneHasTheWholeList(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests, one after the other")
	}
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c := collector(s, clock)
		for range 6 {
			flood(c, clock, "search", 2000)
			flood(c, clock, "", 10)
			post(t, c)
		}
		if n, _ := kept(t, s, recent.Filter{Teams: []string{"search"}}); n != recent.MostLines {
			t.Errorf("%d requests of the only team are kept, want %d", n, recent.MostLines)
		}
		flood(c, clock, "ads", 1)
		post(t, c)
		if n, _ := kept(t, s, recent.Filter{}); n != recent.MostOfTeam+1+60 {
			t.Errorf("%d requests are kept once another team has one, want %d", n, recent.MostOfTeam+1+60)
		}
	})
}

// Many teams share the list by time, and nothing more of them is reported to Redis.
func TestManyTeamsShareTheList(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests, one after the other")
	}
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, client redis.UniversalClient) {
		c := collector(s, clock)
		for round := range 15 {
			for team := range 100 {
				flood(c, clock, fmt.Sprint("team-", round%2*100+team), 10)
			}
			post(t, c)
		}
		if n, _ := kept(t, s, recent.Filter{}); n != recent.MostLines {
			t.Errorf("%d requests are kept, want %d", n, recent.MostLines)
		}
		if client == nil {
			return
		}
		if n := client.XLen(t.Context(), "sl1:requests").Val(); n > recent.MostLines+200 {
			t.Errorf("the stream has %d entries", n)
		}
		if lists := client.Keys(t.Context(), "sl1:{sl1:requests}:of:*").Val(); len(lists) > 0 {
			t.Errorf("the entries of %q are told, none of which has many", lists)
		}
	})
}

// While replicas of the previous version run, their lines are in the stream without a report of their team, and they read its
// entries.
func TestLinesOfTheVersionBefore(t *testing.T) {
	clock, client := limittest.NewClock(), limittest.RealRedis(t)
	s := recent.NewRedis(client, clock.Now)
	before := func(r telemetry.Record) {
		args := &redis.XAddArgs{Stream: "sl1:requests", MaxLen: 10_000, Approx: true,
			Values: []string{"at", fmt.Sprint(r.Time.UnixMicro()), "line", strings.TrimSpace(string(r.AppendLine(nil)))}}
		if err := client.XAdd(t.Context(), args).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 600 {
		before(done(clock, "", fmt.Sprint("unknown-", i)))
		before(done(clock, "search", fmt.Sprint("search-", i)))
		clock.Move(time.Millisecond)
	}
	c := collector(s, clock)
	flood(c, clock, "ads", 10)
	post(t, c)
	for team, want := range map[string]int{"": 500, "search": 600, "ads": 10} {
		if n, _ := kept(t, s, recent.Filter{Teams: []string{team}}); n != want {
			t.Errorf("%d requests of %q are kept, want %d", n, team, want)
		}
	}
	entries := client.XRevRangeN(t.Context(), "sl1:requests", "+", "-", 1).Val()
	if len(entries) != 1 || entries[0].Values["at"] == nil || !strings.Contains(fmt.Sprint(entries[0].Values["line"]), "ads-9") {
		t.Errorf("an entry of this version: %v", entries)
	}
}

// Crowding out is reported once a post.
func TestACrowdIsTold(t *testing.T) {
	clock := limittest.NewClock()
	told := 0
	c := recent.New(recent.Config{Store: recent.NewMemory(clock.Now), Now: clock.Now, Crowded: func() { told++ }})
	for _, tt := range []struct {
		team string
		n    int
		want int
	}{{"search", 3000, 0}, {"", 20, 0}, {"", 1000, 1}} {
		flood(c, clock, tt.team, tt.n)
		post(t, c)
		if told != tt.want {
			t.Errorf("after %d of %q: told %d times, want %d", tt.n, tt.team, told, tt.want)
		}
	}
	flood(c, clock, "search", 3000)
	flood(c, clock, "ads", 1)
	post(t, c)
	if told != 2 {
		t.Errorf("told %d times of a team with more than a quarter beside another, want 2", told)
	}
}
