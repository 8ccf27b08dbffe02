package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/cache"
)

// clock is a clock that the test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func newClaims() (*cache.Claims, *clock) {
	c := &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	return cache.NewClaims(24*time.Hour, c.now), c
}

func heard(task string, status cache.Status) cache.Answer {
	return cache.Answer{Task: task, Status: status}
}

func TestAbsentForeignAndExpiredAreOne(t *testing.T) {
	claims, clock := newClaims()
	claims.Put(context.Background(), cache.Claim{Team: "search", Task: "t1", Model: "gen2.6-image"})
	if c, ok, _ := claims.Get(context.Background(), "search", "t1"); !ok || c.Model != "gen2.6-image" || !c.Created.Equal(clock.Time) {
		t.Fatalf("own task: %+v %v", c, ok)
	}
	for _, tt := range []struct{ team, task string }{{"shop", "t1"}, {"search", "t2"}, {"", "t1"}, {"search", ""}} {
		if c, ok, _ := claims.Get(context.Background(), tt.team, tt.task); ok {
			t.Errorf("%q got the task %q: %+v", tt.team, tt.task, c)
		}
	}
	clock.Time = clock.Add(24 * time.Hour)
	if _, ok, _ := claims.Get(context.Background(), "search", "t1"); !ok {
		t.Error("forgotten at 24 h, the last instant of its life")
	}
	clock.Time = clock.Add(time.Nanosecond)
	if _, ok, _ := claims.Get(context.Background(), "search", "t1"); ok {
		t.Error("known after 24 h")
	}
}

// Two teams claim one id: the first claim stays, and the other team gets none until the task is forgotten.
func TestClaimsOfOneIDByTwoTeams(t *testing.T) {
	claims, clock := newClaims()
	put := func(team, model string) bool {
		return claims.Put(context.Background(), cache.Claim{Team: team, Task: "t", Model: model})
	}
	if first, other, again := put("search", "a"), put("shop", "b"), put("search", "c"); !first || other || !again {
		t.Errorf("first %t, other team %t, again %t", first, other, again)
	}
	for team, model := range map[string]string{"search": "a", "shop": ""} {
		if c, ok, _ := claims.Get(context.Background(), team, "t"); ok != (model != "") || c.Model != model {
			t.Errorf("%s: %+v", team, c)
		}
	}
	clock.Time = clock.Add(25 * time.Hour)
	if !put("shop", "b") {
		t.Error("the task is claimed although it is forgotten")
	}
}

// An answer that was overtaken on its way does not reset the state.
func TestStatusNeverGoesBack(t *testing.T) {
	for _, tt := range []struct {
		first, then, want cache.Status
	}{
		{cache.Pending, cache.Running, cache.Running},
		{cache.Running, cache.Pending, cache.Running},
		{cache.Running, cache.Suspended, cache.Running},
		{cache.Pending, cache.Suspended, cache.Suspended},
		{cache.Pending, cache.Failed, cache.Failed},
		{cache.Succeeded, cache.Running, cache.Succeeded},
		{cache.Succeeded, cache.Failed, cache.Succeeded},
		{cache.Canceled, cache.Running, cache.Canceled},
		{cache.Cancelled, cache.Running, cache.Cancelled},
		{cache.Running, cache.Unknown, cache.Running},
		{cache.Running, "", cache.Running},
		{cache.Pending, "THINKING", "THINKING"}, // an unknown state counts as running
		{"THINKING", cache.Pending, "THINKING"},
		{"THINKING", cache.Succeeded, cache.Succeeded},
	} {
		claims, _ := newClaims()
		claims.Put(context.Background(), cache.Claim{Team: "search", Task: "t", Answer: heard("t", tt.first), Body: []byte(tt.first)})
		kept, _, _ := claims.Get(context.Background(), "search", "t")
		claim, err := claims.Hear(context.Background(), &kept, heard("t", tt.then), []byte(tt.then), 0)
		if err != nil || claim.Answer.Status != tt.want || string(claim.Body) != string(tt.want) {
			t.Errorf("%s, then %s: %s with body %s, want %s", tt.first, tt.then, claim.Answer.Status, claim.Body, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	claims, clock := newClaims()
	for i := range 25 {
		model := "gen2.6-image"
		if i%5 == 0 {
			model = "gen2.5-t2i"
		}
		claims.Put(context.Background(), cache.Claim{Team: "search", Task: fmt.Sprint("t", i), Model: model, Answer: heard("", cache.Pending)})
		clock.Time = clock.Add(time.Minute)
	}
	claims.Put(context.Background(), cache.Claim{Team: "shop", Task: "theirs"})
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		filter cache.Filter
		total  int
		first  string // "" for an empty page
		count  int
	}{
		{"all", cache.Filter{}, 25, "t24", 10},
		{"third page", cache.Filter{Page: 3}, 25, "t4", 5},
		{"beyond the end", cache.Filter{Page: 4}, 25, "", 0},
		{"page of 100", cache.Filter{Size: 100}, 25, "t24", 25},
		{"page of 101", cache.Filter{Size: 101}, 25, "t24", 25},
		{"by id", cache.Filter{Task: "t7"}, 1, "t7", 1},
		{"another team's id", cache.Filter{Task: "theirs"}, 0, "", 0},
		{"by model", cache.Filter{Model: "gen2.5-t2i", Size: 2}, 5, "t20", 2},
		{"by status", cache.Filter{Status: cache.Running}, 0, "", 0},
		{"from", cache.Filter{From: start.Add(23 * time.Minute)}, 2, "t24", 2},
		{"to", cache.Filter{To: start.Add(time.Minute)}, 2, "t1", 2},
	} {
		page, total, _ := claims.List(context.Background(), []string{"search"}, tt.filter)
		if total != tt.total || len(page) != tt.count || tt.count > 0 && page[0].Task != tt.first {
			t.Errorf("%s: %d of %d, %+v; want %d of %d from %s", tt.name, len(page), total, page, tt.count, tt.total, tt.first)
		}
	}
}

// A team sees its own tasks of the last 24 hours and no others.
func TestClaimsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims, clock := newClaims()
		type made struct {
			team, task string
			at         time.Time
		}
		var model []made
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "wait") {
				clock.Time = clock.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes")) * time.Minute)
			}
			m := made{rapid.SampledFrom([]string{"search", "shop"}).Draw(t, "team"), fmt.Sprint("t", i), clock.Time}
			claims.Put(context.Background(), cache.Claim{Team: m.team, Task: m.task})
			model = append(model, m)
		}
		live := map[string]int{}
		for _, m := range model {
			alive := clock.Sub(m.at) <= 24*time.Hour
			if _, ok, _ := claims.Get(context.Background(), m.team, m.task); ok != alive {
				t.Fatalf("%s of %s, %v old: %v", m.task, m.team, clock.Sub(m.at), ok)
			}
			if alive {
				live[m.team]++
			}
		}
		for _, team := range []string{"search", "shop"} {
			if _, total, _ := claims.List(context.Background(), []string{team}, cache.Filter{}); total != live[team] {
				t.Fatalf("%s lists %d, has %d", team, total, live[team])
			}
		}
	})
}

func TestReadAnswer(t *testing.T) {
	zone := time.FixedZone("", 8*60*60)
	for _, tt := range []struct {
		name, body string
		want       cache.Answer
	}{
		{"creation", `{"output":{"task_status":"PENDING","task_id":"a-1"},"request_id":"r"}`, cache.Answer{Task: "a-1", Status: cache.Pending}},
		{
			"ended", `{"request_id":"r","output":{"task_id":"a","task_status":"SUCCEEDED","submit_time":"2026-11-21 20:00:00.123","scheduled_time":"2026-11-21 20:00:01","end_time":"2026-11-21 20:00:09.5","finished":true}}`,
			cache.Answer{
				Task: "a", Status: cache.Succeeded, Submitted: time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC),
				Scheduled: time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC), Ended: time.Date(2026, 11, 21, 12, 0, 9, 500e6, time.UTC),
			},
		},
		{"a time that is none", `{"output":{"task_id":"a","task_status":"RUNNING","submit_time":"yesterday"}}`, cache.Answer{Task: "a", Status: cache.Running}},
		{"error", `{"code":"InternalError","message":"m","request_id":"r"}`, cache.Answer{}},
		{"no JSON", `<html>`, cache.Answer{}},
		{"empty", ``, cache.Answer{}},
	} {
		got := cache.ReadAnswer([]byte(tt.body), zone)
		if got.Task != tt.want.Task || got.Status != tt.want.Status || !got.Submitted.Equal(tt.want.Submitted) || !got.Scheduled.Equal(tt.want.Scheduled) || !got.Ended.Equal(tt.want.Ended) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A task that was handed out is handed out again when a query for it would have ended, if nothing was heard of it: its process may have
// died, or lost Redis.
func TestATaskIsHandedOutAgain(t *testing.T) {
	c, clock := newClaims()
	c.Put(t.Context(), aClaim("search", "t1"))
	for _, tt := range []struct {
		passes time.Duration
		want   int
	}{{0, 1}, {15*time.Second - 1, 0}, {1, 1}, {time.Second, 0}} {
		clock.Time = clock.Add(tt.passes)
		if due, err := c.Due(t.Context(), 10, nil); len(due) != tt.want || err != nil {
			t.Errorf("%v later %d are handed out, %v; want %d", tt.passes, len(due), err, tt.want)
		}
	}
}
