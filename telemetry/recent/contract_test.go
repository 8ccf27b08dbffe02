package recent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// store is what both forms do.
type store interface {
	recent.Store
	Minutes(ctx context.Context, teams []string, from, to time.Time) ([]recent.Minute, error)
	Day(ctx context.Context, teams []string, at time.Time) (map[string]recent.Counts, error)
	Requests(ctx context.Context, f recent.Filter) (recent.Page, error)
	Latencies(ctx context.Context, by recent.By, from, to time.Time) ([]recent.Latency, error)
}

// forms runs a test over both forms. client is nil for the memory form.
func forms(t *testing.T, test func(t *testing.T, s store, clock *limittest.Clock, client redis.UniversalClient)) {
	t.Run("memory", func(t *testing.T) {
		clock := limittest.NewClock()
		test(t, recent.NewMemory(clock.Now), clock, nil)
	})
	t.Run("Redis", func(t *testing.T) {
		clock, client := limittest.NewClock(), limittest.RealRedis(t)
		test(t, recent.NewRedis(client, clock.Now), clock, client)
	})
}

func collector(s recent.Store, clock *limittest.Clock) *recent.Collector {
	return recent.New(recent.Config{Store: s, Now: clock.Now})
}

func post(t *testing.T, c *recent.Collector) {
	t.Helper()
	if err := c.Post(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func minutesOf(t *testing.T, s store, from, to time.Time, teams ...string) []recent.Minute {
	t.Helper()
	list, err := s.Minutes(t.Context(), teams, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func requests(t *testing.T, s store, f recent.Filter) recent.Page {
	t.Helper()
	page, err := s.Requests(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func ids(page recent.Page) string {
	var list []string
	for i := range page.Requests {
		list = append(list, page.Requests[i].ID)
	}
	return strings.Join(list, " ")
}

// done is a finished request of a team.
func done(clock *limittest.Clock, team, id string) telemetry.Record {
	return telemetry.Record{
		Time: clock.Now(), ID: id, Team: team, Status: 200, Model: "llm-plus", Route: "/x", Method: "POST", Overhead: 300 * time.Microsecond,
		Cost: telemetry.Cost{Known: true, Amounts: unit.Amounts{1, 40, 0, 2500}, Flag: telemetry.FlagExact},
	}
}

func TestMinutesOfTeamsAndOfAll(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		one, two, start := collector(s, clock), collector(s, clock), clock.Now()
		for _, c := range []*recent.Collector{one, two, one} {
			r := done(clock, "search", "1")
			c.Note(&r, r.AppendLine(nil))
		}
		refused := telemetry.Record{Time: clock.Now(), Team: "search", Status: 429, Refusal: "admit/rate",
			Broken: []telemetry.BrokenRule{{ID: "text.seed"}}}
		one.Note(&refused, refused.AppendLine(nil))
		broken := done(clock, "search", "2")
		broken.Broken = []telemetry.BrokenRule{{ID: "text.seed"}, {ID: "text.top_p", Refused: true}}
		two.Note(&broken, broken.AppendLine(nil))
		unknown := telemetry.Record{Time: clock.Now(), Status: 401, Refusal: "authenticate/key"}
		two.Note(&unknown, unknown.AppendLine(nil))
		post(t, one)
		clock.Move(time.Minute)
		failed := telemetry.Record{Time: clock.Now().Add(-30 * time.Second), Duration: 30 * time.Second, Team: "ads", Status: 502}
		one.Note(&failed, failed.AppendLine(nil))
		poll := telemetry.Record{Time: clock.Now(), Team: "ads", Task: "t1", Status: 200, TaskStatus: "SUCCEEDED"}
		two.Note(&poll, poll.AppendLine(nil))
		post(t, one)
		post(t, two)

		got := minutesOf(t, s, start, start.Add(time.Hour), "search", "ads", "none", "")
		search := recent.Counts{
			Requests: 5, Overhead: 1200 * time.Microsecond, Refusals: map[string]int64{"admit/rate": 1},
			Rules: map[string]recent.RuleCount{"text.seed": {Warned: 2}, "text.top_p": {Refused: 1}},
		}
		ads := recent.Counts{Requests: 2, Failed: 1}
		all := search
		all.Requests, all.Refusals = 6, map[string]int64{"admit/rate": 1, "authenticate/key": 1}
		want := []recent.Minute{
			{At: start, Counts: all}, {At: start.Add(time.Minute), Counts: ads},
			{Team: "ads", At: start.Add(time.Minute), Counts: ads}, {Team: "search", At: start, Counts: search},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		day, err := s.Day(t.Context(), []string{"search", "ads", "none", ""}, clock.Now())
		whole := all
		whole.Add(&ads)
		if diff := cmp.Diff(map[string]recent.Counts{"search": search, "ads": ads, "": whole}, day); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if day, err := s.Day(t.Context(), []string{"search"}, clock.Now().Add(24*time.Hour)); len(day) != 0 || err != nil {
			t.Errorf("the next day has %+v, %v", day, err)
		}
		if all.Refused() != 2 {
			t.Errorf("%d refused, want 2", all.Refused())
		}
		if got := minutesOf(t, s, start.Add(time.Minute), start.Add(2*time.Minute), "search", "ads"); len(got) != 1 || got[0].Team != "ads" {
			t.Errorf("the second minute has %+v, want ads alone", got)
		}
	})
}

// lossy posts and loses the replies that a test chooses, or fails before it posts.
type lossy struct {
	store
	fail func(n int) (before, after bool)
	n    int
}

var errLost = errors.New("lost")

func (l *lossy) Post(ctx context.Context, p *recent.Post) error {
	l.n++
	before, after := l.fail(l.n)
	if before {
		return errLost
	}
	err := l.store.Post(ctx, p)
	if after {
		p.Kept, err = false, errLost
		for _, h := range p.Hours {
			h.Stored = false
		}
	}
	return err
}

func TestNothingIsLostNorDoubled(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		bad := &lossy{store: s, fail: func(n int) (bool, bool) { return n%3 == 1, n%3 == 2 }}
		c, start := collector(bad, clock), clock.Now()
		for i := range 100 {
			r := done(clock, []string{"search", "ads"}[i%2], fmt.Sprint(i))
			c.Note(&r, r.AppendLine(nil))
			_ = c.Post(t.Context())
			clock.Move(time.Minute)
		}
		bad.fail = func(int) (bool, bool) { return false, false }
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if day, err := s.Day(t.Context(), []string{"search", ""}, start); day["search"].Requests != 50 || day[""].Requests != 100 || err != nil {
			t.Errorf("the day has %+v, %v; want 50 requests of search and 100 in all", day, err)
		}
		sums := map[string]int64{}
		for _, m := range minutesOf(t, s, start, clock.Now(), "search", "ads", "") {
			sums[m.Team] += m.Requests
			if m.Requests != 1 {
				t.Errorf("%s at %s: %+v, want one request", m.Team, m.At, m.Counts)
			}
		}
		if diff := cmp.Diff(map[string]int64{"search": 50, "ads": 50, "": 100}, sums); diff != "" {
			t.Error(diff)
		}
		if page := requests(t, s, recent.Filter{Size: 500}); len(page.Requests) != 100 {
			t.Errorf("%d requests are kept, want 100", len(page.Requests))
		}
		if c.Dropped() != 0 {
			t.Errorf("%d dropped, want none", c.Dropped())
		}
	})
}

func TestRequestsByFilterAndPage(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c, start := collector(s, clock), clock.Now()
		if page := requests(t, s, recent.Filter{}); len(page.Requests) != 0 || page.Next != "" {
			t.Errorf("an empty store has %+v", page)
		}
		for i := range 7 {
			r := done(clock, []string{"search", "ads"}[i%2], fmt.Sprint("r", i))
			switch i {
			case 2:
				r.Status, r.Refusal, r.Model = 429, "admit/rate", "gen"
			case 3:
				r.Status, r.Refusal, r.Model = 429, "admit/quota", `odd"model`
			case 5:
				r.Status, r.Model = 500, "gen"
			}
			c.Note(&r, r.AppendLine(nil))
			if i != 4 { // two arrive at the same moment
				clock.Move(time.Second)
			}
			if i%2 == 0 {
				post(t, c)
			}
		}
		unknown := telemetry.Record{Time: clock.Now(), ID: "r7", Status: 401, Refusal: "authenticate/key"}
		c.Note(&unknown, unknown.AppendLine(nil))
		post(t, c)
		for _, tt := range []struct {
			name   string
			filter recent.Filter
			want   string
		}{
			{"all, newest first", recent.Filter{}, "r7 r6 r5 r4 r3 r2 r1 r0"},
			{"of a team", recent.Filter{Teams: []string{"search"}}, "r6 r4 r2 r0"},
			{"of two teams", recent.Filter{Teams: []string{"search", "ads"}}, "r6 r5 r4 r3 r2 r1 r0"},
			{"of no team", recent.Filter{Teams: []string{}}, ""},
			{"by id", recent.Filter{ID: "r3"}, "r3"},
			{"by status", recent.Filter{Status: 429}, "r3 r2"},
			{"by refusal", recent.Filter{Refusal: "admit/rate"}, "r2"},
			{"by the stage of the refusal", recent.Filter{Refusal: "admit"}, "r3 r2"},
			{"refused at all", recent.Filter{Refusal: recent.AnyRefusal}, "r7 r3 r2"},
			{"by model", recent.Filter{Model: "gen"}, "r5 r2"},
			{"by a model with a quote", recent.Filter{Model: `odd"model`}, "r3"},
			{"from a time", recent.Filter{From: start.Add(4 * time.Second)}, "r7 r6 r5 r4"},
			{"by all at once", recent.Filter{Teams: []string{"search"}, Status: 429, Refusal: "admit/rate", Model: "gen", From: start}, "r2"},
		} {
			if got := ids(requests(t, s, tt.filter)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		for _, size := range []int{1, 2, 3, 8} {
			var got []string
			f := recent.Filter{Size: size}
			for {
				page := requests(t, s, f)
				got = append(got, ids(page))
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			if all := strings.Join(got, " "); all != "r7 r6 r5 r4 r3 r2 r1 r0" {
				t.Errorf("pages of %d: %s", size, all)
			}
		}
		for _, bad := range []string{"x", "1-", "1-0", "-1", "?-1"} {
			if _, err := s.Requests(t.Context(), recent.Filter{Cursor: bad}); !errors.Is(err, recent.ErrCursor) {
				t.Errorf("cursor %q: %v, want ErrCursor", bad, err)
			}
		}
	})
}

func TestARequestIsAsItsLine(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c := collector(s, clock)
		r := telemetry.Record{
			Time: clock.Now().Add(1500 * time.Nanosecond), ID: "id", Team: "search", Key: "k", Method: "POST", Route: "/r", Endpoint: "text",
			Kind: "text", Model: "m", Task: "t",
			Status: 200, Refusal: "a/b", Cache: "hit", Front: "openai", UpstreamStatus: 201, Duration: 1234567 * time.Microsecond,
			Overhead:   1001 * time.Microsecond,
			UpstreamID: "up", TraceID: "trace", Tags: "project=alpha", Reason: "because", Broken: []telemetry.BrokenRule{{ID: "text.seed"}},
			Limit: telemetry.Limit{Name: "spend-day-key", Scope: "key", Of: "k", Unit: "spend", Per: "day", Used: 123456789, Held: 2, Left: 3,
				Limit: 123456794, Asked: 5}, Cost: telemetry.Cost{Known: true, Amounts: unit.Amounts{1, 3, 2, 123456789}, Flag: "exact"},
		}
		c.Note(&r, r.AppendLine(nil))
		post(t, c)
		want := recent.Request{
			At: r.Time, ID: "id", Team: "search", Key: "k", Method: "POST", Route: "/r", Endpoint: "text", Kind: "text", Model: "m", Task: "t",
			Status: 200, Refusal: "a/b", Cache: "hit", Front: "openai", Upstream: 201, Duration: r.Duration, Overhead: r.Overhead,
			Cost: r.Cost, UpstreamID: "up", TraceID: "trace", Tag: "project=alpha", Reason: "because", Rules: []string{"text.seed"}, Limit: r.Limit,
			Line: strings.TrimSuffix(string(r.AppendLine(nil)), "\n"),
		}
		if diff := cmp.Diff([]recent.Request{want}, requests(t, s, recent.Filter{}).Requests); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTheMemberTag is that of a line even if an older replica wrote it, which names it tags.
func TestTheMemberTag(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c := collector(s, clock)
		for _, id := range []string{"old", "new"} {
			clock.Move(time.Second)
			r := done(clock, "search", id)
			r.Tags, r.Model = "project=alpha", `,"tags":"`
			line := r.AppendLine(nil)
			if id == "old" {
				line = bytes.Replace(line, []byte(`"tag":`), []byte(`"tags":`), 1)
			}
			c.Note(&r, line)
		}
		post(t, c)
		page := requests(t, s, recent.Filter{})
		if ids(page) != "new old" {
			t.Fatal(ids(page))
		}
		for _, r := range page.Requests {
			if r.Model != `,"tags":"` || !strings.Contains(r.Line, `,"tag":"project=alpha"`) || strings.Contains(r.Line, `"tags":"project`) {
				t.Errorf("%s: the line is %s", r.ID, r.Line)
			}
		}
	})
}

func TestTheNewestRequestsAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests, one after the other")
	}
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, client redis.UniversalClient) {
		c := collector(s, clock)
		for i := range recent.MostLines + 500 {
			r := done(clock, "search", fmt.Sprint(i))
			c.Note(&r, r.AppendLine(nil))
			clock.Move(time.Millisecond)
			if i%2000 == 0 {
				post(t, c)
				requests(t, s, recent.Filter{})
			}
		}
		post(t, c)
		n, f := 0, recent.Filter{Size: 500}
		for {
			page := requests(t, s, f)
			if n == 0 && page.Requests[0].ID != fmt.Sprint(recent.MostLines+499) {
				t.Errorf("the newest is %s", page.Requests[0].ID)
			}
			n += len(page.Requests)
			if f.Cursor = page.Next; f.Cursor == "" {
				break
			}
		}
		if n != recent.MostLines {
			t.Errorf("%d requests are kept, want %d", n, recent.MostLines)
		}
		if client != nil {
			if n := client.XLen(t.Context(), "sl1:requests").Val(); n < recent.MostLines || n > recent.MostLines+200 {
				t.Errorf("the stream has %d entries, want about %d", n, recent.MostLines)
			}
		}
	})
}

func TestMinutesAreKeptForTwoDays(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, client redis.UniversalClient) {
		c, start := collector(s, clock), clock.Now()
		r := done(clock, "search", "1")
		c.Note(&r, r.AppendLine(nil))
		post(t, c)
		if client != nil {
			for _, key := range []string{"sl1:{search}:min:2026112112", "sl1:{search}:min:20261121", "sl1:{sl1:min}:min:2026112112"} {
				if ttl := client.TTL(t.Context(), key).Val(); ttl < 47*time.Hour || ttl > recent.Kept {
					t.Errorf("%s lives for %s, want 48 h", key, ttl)
				}
			}
			return
		}
		clock.Move(recent.Kept)
		post(t, c)
		if got := minutesOf(t, s, start, clock.Now(), "search"); len(got) != 1 {
			t.Errorf("after 48 h: %d minutes, want 1", len(got))
		}
		clock.Move(time.Hour)
		late := done(clock, "search", "2")
		c.Note(&late, late.AppendLine(nil))
		post(t, c)
		if got := minutesOf(t, s, start, clock.Now().Add(time.Minute), "search"); len(got) != 1 || !got[0].At.Equal(clock.Now()) {
			t.Errorf("after 49 h: %+v, want the new minute alone", got)
		}
	})
}
