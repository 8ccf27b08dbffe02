package cache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/cache"
)

// A claim or an answer of one replica is known to the others, and to no other team. The first claim of a task stays.
func TestReplicasKnowTheSame(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b, want := open(), open(), aClaim("search", "t1")
		a.put("search", "t1")
		if got := b.get("search", "t1"); !reflect.DeepEqual(got.Hold, want.Hold) || got.Model != want.Model || got.Callback != want.Callback ||
			got.Key != "k" || string(got.Body) != string(want.Body) || time.Since(got.Created) > time.Minute {
			t.Fatalf("%+v", got)
		}
		for _, other := range [][2]string{{"shop", "t1"}, {"search", "t2"}, {"", "t1"}, {"search", ""}} {
			b.absent(other[0], other[1], true)
		}
		again := aClaim("search", "t1")
		again.Model = "other"
		if other := b.Put(t.Context(), aClaim("shop", "t1")); !b.Put(t.Context(), again) || other {
			t.Error("a second claim counts, or another team's")
		}
		b.absent("shop", "t1", true)
		if got := a.hear("search", "t1", cache.Succeeded, "end"); !got.Final() || string(got.Body) != "end" || got.Model != "gen2.6-image" {
			t.Fatalf("%+v", got)
		}
		time.Sleep(2 * time.Millisecond) // the other's is not fresh any more
		if got := b.get("search", "t1"); string(got.Body) != "end" || !got.Final() {
			t.Errorf("the other replica has %+v", got)
		}
	})
}

// A task that a second creation of its team names stays with what the first one holds. The same claim may be made again: its reply
// may have been lost.
func TestATaskStaysWithTheFirstHold(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b, second := open(), open(), aClaim("search", "t1")
		second.Hold.ID = "h-other"
		a.put("search", "t1")
		a.hear("search", "t1", cache.Running, "r")
		for _, r := range []*replica{b, a} {
			if r.Put(t.Context(), second) {
				t.Error("a second hold has the task")
			}
			end := cache.Answer{Task: "t1", Status: cache.Succeeded}
			if got, err := r.Hear(t.Context(), &second, end, []byte("s"), 0); err != nil || got.Hold.ID != "h-t1" || got.Final() {
				t.Errorf("an answer for the second left %+v, %v", got, err)
			}
			if got := r.get("search", "t1"); got.Hold.ID != "h-t1" || string(got.Body) != "r" {
				t.Errorf("the second left %+v", got)
			}
			r.put("search", "t1")
		}
		b.listed(1)
		if due := b.due(10); len(due) != 1 || due[0].Hold.ID != "h-t1" {
			t.Errorf("due are %+v", due)
		}
	})
}

// What a stream counted is known to the replica that settles the task.
func TestReplicasKnowWhatAStreamCounted(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b := open(), open()
		a.put("search", "t1")
		claim := a.get("search", "t1")
		const counted = `{"usage":{"image_count":1}}`
		b.get("search", "t1") // it is queried there when the stream ends
		if turn, err := b.Take(t.Context(), "search", "t1"); turn != cache.Mine || err != nil {
			t.Fatal(turn, err)
		}
		time.Sleep(200 * time.Millisecond)
		a.Streamed(t.Context(), &claim, counted)
		if got := a.get("search", "t1"); got.Answer.Streamed != counted || got.Answer.Status != claim.Answer.Status ||
			got.Fetched.Sub(claim.Fetched) > 150*time.Millisecond {
			t.Errorf("%+v, it was %+v", got, claim)
		}
		if turn, err := a.Take(t.Context(), "search", "t1"); turn != cache.Busy || err != nil {
			t.Error("the other's turn has ended", turn, err)
		}
		heard := b.hear("search", "t1", cache.Running, "b")
		if heard.Answer.Streamed != counted || heard.Answer.Status != cache.Running {
			t.Errorf("the answer erased it: %+v", heard.Answer)
		}
		time.Sleep(2 * time.Millisecond) // what is known here is not fresh any more
		for _, r := range []*replica{a, b} {
			if got := r.get("search", "t1"); got.Answer.Streamed != counted || string(got.Body) != "b" {
				t.Errorf("a replica has %+v", got.Answer)
			}
		}
		a.schedule("search", "t1")
		if due := b.due(1); len(due) != 1 || due[0].Answer.Streamed != counted {
			t.Errorf("due are %+v", due)
		}
		if ended := b.hear("search", "t1", cache.Succeeded, "c"); ended.Answer.Streamed != counted {
			t.Errorf("the end erased it: %+v", ended.Answer)
		}
		a.Streamed(t.Context(), &claim, "late")
		if got := open().get("search", "t1"); got.Answer.Streamed != counted || string(got.Body) != "c" {
			t.Errorf("a late count changes an end: %+v", got.Answer)
		}
	})
}

// An answer that was overtaken on its way does not reset the state.
func TestStatusNeverGoesBack(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b := open(), open()
		for i, tt := range [][3]cache.Status{ // first, then, want
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
			claim := aClaim("search", fmt.Sprint(i))
			claim.Answer.Status, claim.Body = tt[0], []byte(tt[0])
			a.Put(t.Context(), claim)
			if got := b.hear("search", claim.Task, tt[1], string(tt[1])); got.Answer.Status != tt[2] || string(got.Body) != string(tt[2]) {
				t.Errorf("%s, then %s: %s with body %s, want %s", tt[0], tt[1], got.Answer.Status, got.Body, tt[2])
			}
		}
	})
}

// A task is known for exactly as long as the service knows it. Then another team may claim its id.
func TestATaskIsKnownForItsLife(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	claims := cache.NewClaims(time.Hour, func() time.Time { return now })
	claims.Put(t.Context(), aClaim("search", "t1"))
	made := now
	for i, known := range []bool{true, false} { // the last instant of its life, and the next
		now = made.Add(time.Hour + time.Duration(i))
		if claim, ok, _ := claims.Get(t.Context(), "search", "t1"); ok != known || known && claim.Created != made {
			t.Errorf("%v old it is known: %v, %+v", now.Sub(made), ok, claim)
		}
	}
	now = made.Add(2 * time.Hour)
	if !claims.Put(t.Context(), aClaim("shop", "t1")) {
		t.Error("the task is claimed although it is forgotten")
	}
}

// Whose a task is, is known by its id alone.
func TestTheOwnerOfATask(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		claims := open()
		claims.Put(t.Context(), aClaim("search", "t1"))
		claims.Put(t.Context(), aClaim("shop", "t2"))
		for task, want := range map[string]string{"t1": "search", "t2": "shop", "t3": ""} {
			if team, known, err := claims.Owner(t.Context(), task); team != want || known != (want != "") || err != nil {
				t.Errorf("%s is of %q, known %v, %v", task, team, known, err)
			}
		}
	})
}

// The time of an answer does not depend on how long reading it takes.
func TestWhichAnswerWasHeardLater(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b := open(), open()
		a.put("search", "t1")
		read := func() cache.Claim {
			time.Sleep(2 * time.Millisecond) // the answer from before is no longer fresh
			return b.get("search", "t1")
		}
		was := read()
		for range 20 {
			if again := read(); again.HeardAfter(&was) || was.HeardAfter(&again) {
				t.Fatalf("one answer was heard at %v and at %v", was.Fetched, again.Fetched)
			}
		}
		a.hear("search", "t1", cache.Pending, "p")
		if again := read(); !again.HeardAfter(&was) || was.HeardAfter(&again) {
			t.Errorf("the answer that was heard at %v is not later than that at %v", again.Fetched, was.Fetched)
		}
	})
}

// One replica at a time queries upstream, until an answer is recorded.
func TestOneReplicaQueries(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a, b := open(), open()
		a.put("search", "t1")
		a.take("t1", cache.Mine)
		b.take("t1", cache.Busy)
		a.hear("search", "t1", cache.Running, "r")
		b.take("t1", cache.Mine)
		b.Release(t.Context(), "search", "t1", time.Minute) // the query has failed
		a.take("t1", cache.Resting)
		b.Release(t.Context(), "search", "t1", 0)
		a.take("t1", cache.Mine)
	})
}

// Each due task is handed to one caller, and not again until it is scheduled.
func TestDueIsHandedOutOnce(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		views := []*replica{open(), open(), open()}
		for n := range 50 {
			views[n%3].put([]string{"search", "shop"}[n%2], fmt.Sprint("t", n))
		}
		var handed sync.Map
		var n atomic.Int64
		var handing sync.WaitGroup
		for _, view := range views {
			handing.Go(func() {
				for range 10 {
					list, err := view.Due(t.Context(), 7, nil)
					if err != nil {
						t.Error(err)
					}
					for i := range list {
						if _, twice := handed.LoadOrStore(list[i].Task, true); twice {
							t.Errorf("%s was handed out twice", list[i].Task)
						}
						n.Add(1)
					}
				}
			})
		}
		handing.Wait()
		if n.Load() != 50 {
			t.Errorf("%d tasks were handed out, want 50", n.Load())
		}
		views[0].hear("search", "t0", cache.Failed, "x")
		_ = views[0].Forget(t.Context(), &cache.Claim{Team: "search", Task: "t4"})
		views[1].schedule("search", "t0", "t2", "t4")
		if list := views[2].due(100); len(list) != 1 || list[0].Task != "t2" || list[0].Hold.ID != "h-t2" {
			t.Errorf("due are %+v; want t2 alone", list)
		}
	})
}

// A task that was handed out is handed out again when a query for it would have ended, if no answer was recorded: its process may
// have died, or lost Redis.
func TestATaskIsHandedOutAgain(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := cache.NewClaims(time.Hour, func() time.Time { return now })
	c.Put(t.Context(), aClaim("search", "t1"))
	for _, tt := range []struct {
		passes time.Duration
		want   int
	}{{0, 1}, {15*time.Second - 1, 0}, {1, 1}, {time.Second, 0}} {
		now = now.Add(tt.passes)
		if due, err := c.Due(t.Context(), 10, nil); len(due) != tt.want || err != nil {
			t.Errorf("%v later %d are handed out, %v; want %d", tt.passes, len(due), err, tt.want)
		}
	}
}

// An expired task whose end was never seen is handed out with its hold, so that it is charged. Polls and lists no
// longer find it.
func TestUnheardOfIsHandedOut(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a := open()
		a.putAged(90*time.Minute, "t1")
		other := open()
		other.absent("search", "t1", true)
		other.listed(0)
		due := other.due(10)
		if len(due) != 1 || !reflect.DeepEqual(due[0].Hold, aClaim("search", "t1").Hold) || time.Since(due[0].Created) < 80*time.Minute {
			t.Fatalf("due are %+v", due)
		}
		if err := other.Forget(t.Context(), &due[0]); err != nil {
			t.Error(err)
		}
		other.schedule("search", "t1")
		if due := other.due(10); len(due) != 0 {
			t.Errorf("due again are %+v", due)
		}
	})
}

// putAged claims a task of that age; over Redis, like a replica that could not reach it until now.
func (r *replica) putAged(age time.Duration, task string) {
	r.Helper()
	r.away.Store(true)
	r.behind.Store(int64(age))
	r.put("search", task)
	r.behind.Store(0)
	r.away.Store(false)
	r.maintain("")
}

// teamsDue takes due tasks and returns their teams, in a line.
func (r *replica) teamsDue(most int, first ...string) []string {
	var teams []string
	for _, claim := range r.due(most, first...) {
		teams = append(teams, claim.Team)
	}
	return teams
}

// count is how often a word is in a list.
func count(list []string, word string) int {
	return strings.Count(" "+strings.Join(list, "  ")+" ", " "+word+" ")
}

// A round alternates between all teams, however many tasks one of them has. Teams share the places that others leave. Prioritized
// teams come first, but leave the others a third of a round, wherever it is cut.
func TestDueIsFairOverTeams(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a := open()
		for team, n := range map[string]int{"bulk": 30, "search": 3, "shop": 1} {
			a.many(team, team, n)
		}
		got := a.teamsDue(12)
		if len(got) != 12 || count(got, "bulk") != 8 || count(got, "search") != 3 || count(got, "shop") != 1 {
			t.Errorf("in the first round are %v", got)
		}
		if head := got[:3]; count(head, "bulk") != 1 || count(head, "search") != 1 || count(head, "shop") != 1 {
			t.Errorf("not in turn: %v", got)
		}
		if got := a.teamsDue(12); count(got, "bulk") != 12 {
			t.Errorf("in the second round, with one team only, are %v", got)
		}
		a.many("late", "late", 2)
		a.many("other", "other", 1)
		if got := a.teamsDue(6, "late"); count(got[:2], "late") != 2 || count(got, "bulk") != 3 {
			t.Errorf("late goes first: %v", got)
		}
	})
}

func TestDueLeavesSomethingToTheOthers(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a := open()
		for _, team := range []string{"bulk", "other", "search"} {
			a.many(team, team, 30)
		}
		got := a.teamsDue(60, "bulk", "search")
		for _, end := range []int{3, 9, 15, 30} {
			if n := count(got[:end], "other"); n != end/3 {
				t.Errorf("%d of the first %d are of the team that does not go first", n, end)
			}
		}
		for _, team := range []string{"a1", "a2", "a3", "a4", "z1"} {
			a.many(team, team, 9)
		}
		if got := a.teamsDue(3, "a1", "a2", "a3", "a4", "bulk", "search"); count(got, "z1")+count(got, "other") != 1 {
			t.Errorf("more teams go first than a round has room for: %v", got)
		}
	})
}

// If there are more teams than places in a round, each team is served within as many rounds as that takes.
func TestDueTakesTurnsOverRounds(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		a := open()
		teams, all := []string{"a", "b", "c", "d", "e"}, []string(nil)
		for _, team := range teams {
			a.many(team, team, 4)
		}
		for range teams {
			all = append(all, a.teamsDue(2)...)
		}
		for _, team := range teams {
			if n := count(all, team); n != 2 {
				t.Errorf("%s had %d turns of ten in %v, want 2", team, n, all)
			}
		}
	})
}

// A name runs once over all replicas, and its outcome is known to all.
func TestOnceOverReplicas(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		ctx, a, b := t.Context(), open(), open()
		end := func(name cache.IdempotencyName, token string, status int) {
			a.End(ctx, name, bodySum, cache.Outcome{Body: bodySum, Token: token, Status: status, Header: map[string]string{"A": "b"},
				Answer: []byte("x")})
		}
		begun := a.begin(onceD, true)
		if was := b.begin(onceD, false); was.Status != 0 || was.Body != bodySum || begun.Token == "" {
			t.Fatalf("%+v", was)
		}
		end(onceD, begun.Token, 200)
		if was := b.begin(onceD, false); was.Status != 200 || string(was.Answer) != "x" || was.Header["A"] != "b" {
			t.Errorf("%+v", was)
		}
		begun = a.begin(onceE, true)
		end(onceE, begun.Token, 0)
		b.begin(onceE, true) // a request without a kept outcome may run again
		end(onceE, begun.Token, 0)
		if was := a.begin(onceE, false); was.Status != 0 { // the end of one request frees no other's name
			t.Errorf("%+v", was)
		}
	})
}

// A request that has ended takes no name, however late its Begin or Join arrives; another one with its name runs.
func TestARequestThatHasEndedTakesNothing(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		ctx, a, b := t.Context(), open(), open()
		a.End(ctx, onceD, bodySum, cache.Outcome{Body: bodySum, Token: "given up"})
		if was, runs, err := b.Begin(ctx, onceD, bodySum, "given up"); runs || !errors.Is(err, cache.ErrEnded) {
			t.Errorf("a late begin: %+v, %v, %v", was, runs, err)
		}
		b.begin(onceD, true)
		a.End(ctx, onceE, bodySum, cache.Outcome{Body: bodySum, Token: "given up too"})
		if _, was, runs, err := b.Join(ctx, onceE, bodySum, cache.Attempt{Token: "given up too", Counts: true}); runs ||
			!errors.Is(err, cache.ErrEnded) {
			t.Errorf("a late join: %+v, %v, %v", was, runs, err)
		}
		if _, _, runs, err := b.Join(ctx, onceE, bodySum, cache.Attempt{Token: "repeated", Number: 1, Counts: true}); err != nil || !runs {
			t.Errorf("the repetition: %v, %v", runs, err)
		}
	})
}

// Both spellings of a cancelled task are one state to a list, which shows the task as the service wrote it.
func TestListsKnowBothSpellingsOfCancelled(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		r := open()
		r.put("search", "one", "two", "runs")
		r.hear("search", "one", cache.Canceled, "1")
		r.hear("search", "two", cache.Cancelled, "2")
		for _, status := range []cache.Status{cache.Canceled, cache.Cancelled} {
			ids, _, total := follow(t, r, []string{"search"}, cache.Filter{Status: status})
			slices.Sort(ids)
			if total != 2 || !slices.Equal(ids, []string{"one", "two"}) {
				t.Errorf("%s lists %s", status, ids)
			}
		}
		if got := r.get("search", "one"); got.Answer.Status != cache.Canceled {
			t.Errorf("it is %s", got.Answer.Status)
		}
	})
}

// A team sees its own tasks of the last 24 hours and no others.
func TestClaimsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		claims := cache.NewClaims(24*time.Hour, func() time.Time { return now })
		type made struct {
			team, task string
			at         time.Time
		}
		var model []made
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "wait") {
				now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes")) * time.Minute)
			}
			m := made{rapid.SampledFrom([]string{"search", "shop"}).Draw(t, "team"), fmt.Sprint("t", i), now}
			claims.Put(t.Context(), cache.Claim{Team: m.team, Task: m.task})
			model = append(model, m)
		}
		live := map[string]int{}
		for _, m := range model {
			alive := now.Sub(m.at) <= 24*time.Hour
			if _, ok, _ := claims.Get(t.Context(), m.team, m.task); ok != alive {
				t.Fatalf("%s of %s, %v old: %v", m.task, m.team, now.Sub(m.at), ok)
			}
			if alive {
				live[m.team]++
			}
		}
		for _, team := range []string{"search", "shop"} {
			if page, _ := claims.List(t.Context(), []string{team}, cache.Filter{}); page.Total != live[team] {
				t.Fatalf("%s lists %d, has %d", team, page.Total, live[team])
			}
		}
	})
}

// follow returns the ids on a page, or with Newest on all pages, how many pages that were, and how many tasks the list has.
func follow(t *testing.T, s store, teams []string, f cache.Filter) (ids []string, pages, total int) {
	t.Helper()
	for {
		page, err := s.List(t.Context(), teams, f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Tasks {
			ids = append(ids, page.Tasks[i].Task)
		}
		if pages++; page.Next == 0 {
			return ids, pages, page.Total
		}
		if f.Before > 0 && page.Next >= f.Before {
			t.Fatalf("the page behind %d begins at %d", f.Before, page.Next)
		}
		f.Before = page.Next
	}
}

// Tasks are listed over teams, newest first, whichever replica made them or learned of their end: by numbered pages, from one moment to
// the next, and those that have not ended.
func TestLists(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		const apart = 200 * time.Millisecond // longer than a list takes: otherwise it is asked for again
		views, all := []*replica{open(), open()}, []string{"search", "shop", "ads"}
		var made [12]time.Time
		for n := range 12 {
			claim := aClaim(all[n%3], fmt.Sprint("t", n))
			if n%2 == 1 {
				claim.Model = "other"
			}
			views[n%2].putLater(claim)
			if n == 1 || n == 9 {
				time.Sleep(apart) // the moment is after the task before it
				made[n] = time.Now()
				time.Sleep(apart) // and before the next one
			}
		}
		for n, status := range map[int]cache.Status{3: cache.Succeeded, 4: cache.Running, 7: cache.Failed} {
			views[1].hear(all[n%3], fmt.Sprint("t", n), status, "r")
		}
		for _, tt := range []struct {
			name         string
			teams        string // in a line; empty: all
			filter       cache.Filter
			want         string
			total, pages int // by number or by moment
		}{
			{"all", "", cache.Filter{Size: 100}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0", 12, 0},
			{"a page of ten", "", cache.Filter{}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2", 12, 0},
			{"the second page", "", cache.Filter{Page: 2}, "t1 t0", 12, 0},
			{"beyond the end", "", cache.Filter{Page: 3}, "", 12, 0},
			{"a page of 101", "", cache.Filter{Size: 101}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0", 12, 0},
			{"one team", "search", cache.Filter{}, "t9 t6 t3 t0", 4, 0},
			{"by id", "search", cache.Filter{Task: "t6"}, "t6", 1, 0},
			{"another team's id", "search", cache.Filter{Task: "t7"}, "", 0, 0},
			{"by model", "search", cache.Filter{Model: "other", Size: 1}, "t9", 2, 0},
			{"by state", "shop", cache.Filter{Status: cache.Running}, "t4", 1, 0},
			{"a state of none", "", cache.Filter{Status: cache.Canceled}, "", 0, 0},
			{"from", "", cache.Filter{From: made[9]}, "t11 t10", 2, 0},
			{"to", "", cache.Filter{To: made[1]}, "t1 t0", 2, 0},
			{"no team", "-", cache.Filter{}, "", 0, 0},

			{"open", "", cache.Filter{Open: true, Size: 100}, "t11 t10 t9 t8 t6 t5 t4 t2 t1 t0", 10, 0},
			{"a page of open ones", "", cache.Filter{Open: true, Size: 3, Page: 2}, "t8 t6 t5", 10, 0},
			{"open, beyond the end", "", cache.Filter{Open: true, Size: 3, Page: 5}, "", 10, 0},
			{"open, one team", "shop", cache.Filter{Open: true}, "t10 t4 t1", 3, 0},
			{"open, no team", "-", cache.Filter{Open: true}, "", 0, 0},
			{"open, a team without tasks", "none", cache.Filter{Open: true, Model: "m"}, "", 0, 0},
			{"open, a model", "", cache.Filter{Open: true, Model: "other"}, "t11 t9 t5 t1", 4, 0},
			{"open, a state", "", cache.Filter{Open: true, Status: cache.Running}, "t4", 1, 0},
			{"open, a state that ends", "", cache.Filter{Open: true, Status: cache.Failed}, "", 0, 0},

			{"newest", "", cache.Filter{Newest: true, Size: 100}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0", 0, 1},
			{"newest in pages", "", cache.Filter{Newest: true, Size: 5}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0", 0, 3},
			{"newest in full pages", "", cache.Filter{Newest: true, Size: 4}, "t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0", 0, 3},
			{"newest of two teams", "shop ads", cache.Filter{Newest: true, Size: 3}, "t11 t10 t8 t7 t5 t4 t2 t1", 0, 3},
			{"newest of no team", "-", cache.Filter{Newest: true}, "", 0, 1},
			{"newest of a team without tasks", "none", cache.Filter{Newest: true, Model: "m"}, "", 0, 1},
			{"newest of a model in pages", "", cache.Filter{Newest: true, Model: "other", Size: 4}, "t11 t9 t7 t5 t3 t1", 0, 2},
			{"newest of a state", "", cache.Filter{Newest: true, Status: cache.Succeeded}, "t3", 0, 1},
			{"newest of a state of none", "", cache.Filter{Newest: true, Status: cache.Canceled}, "", 0, 1},
		} {
			teams := all
			if tt.teams != "" {
				teams = strings.Fields(strings.Trim(tt.teams, "-"))
			}
			begun := time.Now()
			got, pages, total := follow(t, views[0], teams, tt.filter)
			// Redis's clock is known to within the duration of a call
			for moment := !tt.filter.From.IsZero() || !tt.filter.To.IsZero(); moment && time.Since(begun) > apart; {
				begun = time.Now()
				got, pages, total = follow(t, views[0], teams, tt.filter)
			}
			if strings.Join(got, " ") != tt.want || !tt.filter.Newest && total != tt.total || tt.filter.Newest && pages != tt.pages {
				t.Errorf("%s: %v of %d on %d pages; want %s of %d on %d", tt.name, got, total, pages, tt.want, tt.total, tt.pages)
			}
		}
		page, err := views[0].List(t.Context(), []string{"shop"}, cache.Filter{Status: cache.Running})
		if err != nil || string(page.Tasks[0].Body) != "r" || page.Tasks[0].Hold.ID != "h-t4" {
			t.Errorf("the running task is %+v, %v", page, err)
		}
	})
}

// putLater claims a task at a later microsecond than any before, so that the order is known.
func (r *replica) putLater(claim cache.Claim) {
	for now := time.Now().UnixMicro(); time.Now().UnixMicro() == now; {
		continue
	}
	r.Put(r.Context(), claim)
}

// Pages are bounded. However the tasks of many teams are spread, the pages together have each task once, in order.
func TestPagesLoseNone(t *testing.T) {
	forms(t, func(t *testing.T, open func() *replica) {
		const teams, tasks = 60, 2400 // a page names 333 tasks of each team, and filters 2,000
		var all, odd, ids []string
		for i := range teams {
			all = append(all, fmt.Sprint("team-", i))
		}
		r, random := open(), rand.New(rand.NewPCG(1, 2))
		for n := range tasks {
			claim := aClaim(all[[]int{0, 0, 0, 0, 1, 2 + n%(teams-2)}[random.IntN(6)]], fmt.Sprint("t", n))
			if n%7 == 0 {
				claim.Model, odd = "other", append(odd, claim.Task)
			}
			r.putLater(claim)
			ids = append(ids, claim.Task)
		}
		slices.Reverse(ids)
		slices.Reverse(odd)
		for model, want := range map[string][]string{"": ids, "other": odd} {
			if got, pages, _ := follow(t, r, all, cache.Filter{Newest: true, Size: 100, Model: model}); !slices.Equal(got, want) {
				t.Errorf("model %q: %d tasks on %d pages, want %d", model, len(got), pages, len(want))
			}
		}
	})
}
