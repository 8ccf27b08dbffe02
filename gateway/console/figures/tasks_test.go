package figures

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/telemetry/recent"
)

// claim makes a task of two pictures, and ends it on request.
func (s *stand) claim(team, id string, ends bool) {
	s.Helper()
	claim := cache.Claim{
		Team: team, Key: "k1", Task: id, Model: "gen", Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
		Hold:   cache.Hold{ID: "h-" + id, Endpoint: "image", Images: 2, Price: 50},
		Answer: cache.Answer{Task: id, Status: cache.Pending, Submitted: s.Now()},
	}
	s.claims.Put(s.Context(), claim)
	if ends {
		body := `{"output":{"task_id":"` + id + `","task_status":"SUCCEEDED","results":[{"url":"https://pictures.example/1.png"},{"code":"X",` +
			`"message":"no"}]},"usage":{"image_count":1}}`
		answer := cache.Answer{Task: id, Status: cache.Succeeded, Submitted: s.Now(), Scheduled: s.Now().Add(time.Second),
			Ended: s.Now().Add(5 * time.Second)}
		if _, err := s.claims.Hear(s.Context(), &claim, answer, []byte(body), 0); err != nil {
			s.Fatal(err)
		}
	}
	s.Move(time.Minute)
}

func TestTasks(t *testing.T) {
	s := newStand(t, false)
	s.claim("search", "t1", false)
	s.claim("shop", "t2", false)
	s.claim("search", "t3", true)
	s.claim("search", "t4", false)
	list := func(p access.Person, q TaskFilter) string {
		t.Helper()
		all := ""
		for {
			page, err := s.figures.TaskList(t.Context(), p, q)
			if err != nil {
				t.Fatal(err)
			}
			all += " " + names(page.Tasks, func(l TaskLine) string { return l.ID })
			if q.After = page.Next; q.After == "" {
				return all[1:]
			}
		}
	}
	for _, tt := range []struct {
		name string
		p    access.Person
		q    TaskFilter
		want string
	}{
		{"all", operator, TaskFilter{}, "t4 t3 t2 t1"},
		{"in pages", operator, TaskFilter{Size: 2}, "t4 t3 t2 t1"},
		{"ended ones", operator, TaskFilter{State: "SUCCEEDED"}, "t3"},
		{"open ones in pages", operator, TaskFilter{State: OpenTasks, Size: 1}, "t4 t2 t1"},
		{"open ones of a team", operator, TaskFilter{Team: "search", State: OpenTasks}, "t4 t1"},
		{"waiting ones in pages", operator, TaskFilter{State: "PENDING", Size: 1}, "t4 t2 t1"},
		{"all of a team", operator, TaskFilter{Team: "search"}, "t4 t3 t1"},
		{"in pages of one", operator, TaskFilter{Team: "search", Size: 1}, "t4 t3 t1"},
		{"by state", operator, TaskFilter{Team: "search", State: "SUCCEEDED"}, "t3"},
		{"older ones", operator, TaskFilter{Age: 3 * time.Minute}, "t2 t1"},
		{"older open ones of a team", operator, TaskFilter{Team: "search", State: OpenTasks, Age: 2 * time.Minute}, "t1"},
		{"by model", operator, TaskFilter{Model: "other"}, ""},
		{"of a member", member, TaskFilter{}, "t4 t3 t1"},
		{"of nobody", access.Person{}, TaskFilter{}, ""},
	} {
		if got := list(tt.p, tt.q); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if _, err := s.figures.TaskList(t.Context(), member, TaskFilter{Team: "shop"}); !errors.Is(err, ErrAbsent) {
		t.Errorf("a foreign team's tasks: %v", err)
	}
	for _, cursor := range []string{"x", "0", "-1", "9223372036854775807", "92233720368547760", "99999999999999999999"} {
		for _, team := range []string{"", "search"} {
			if _, err := s.figures.TaskList(t.Context(), operator, TaskFilter{Team: team, After: cursor}); !errors.Is(err, ErrQuery) {
				t.Errorf("a made-up cursor %s: %v", cursor, err)
			}
		}
	}
}

func TestTask(t *testing.T) {
	s := newStand(t, false)
	begun := s.Now()
	s.claim("search", "t1", true)
	got, err := s.figures.Task(t.Context(), member, "search", "t1")
	want := Task{
		TaskLine: TaskLine{
			Team: "search", ID: "t1", Model: "gen", State: "SUCCEEDED", Created: begun, Submitted: begun, Begun: begun.Add(time.Second),
			Ended: begun.Add(5 * time.Second), Cost: limit.Amounts{1, 0, 1, 50},
		},
		Key: "k1", Request: "h-t1", TraceID: "0123456789abcdef0123456789abcdef", Held: limit.Amounts{1, 0, 2, 100},
		Pictures: []string{"https://pictures.example/1.png"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	s.claim("shop", "t2", false)
	for _, path := range [][2]string{{"search", "t2"}, {"shop", "t2"}, {"none", "t2"}, {"search", "none"}} {
		if _, err := s.figures.Task(t.Context(), member, path[0], path[1]); !errors.Is(err, ErrAbsent) {
			t.Errorf("a member asks for %s of %s: %v, want ErrAbsent", path[1], path[0], err)
		}
	}
	if open, err := s.figures.Task(t.Context(), operator, "shop", "t2"); err != nil || !open.Open || open.Cost != open.Held ||
		open.Pictures != nil {
		t.Errorf("an open task: %+v, %v", open, err)
	}
}

func TestContentOfAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		body, message string
		pictures      int
	}{
		{`{"output":{"choices":[{"message":{"content":[{"image":"https://a/1.png"},{"text":"https://a/2.png"}]}}]}}`, "", 1},
		{`{"output":{"results":[{"url":"javascript:alert(1)"},{"url":7},{"url":"http://a/1"}]}}`, "", 1},
		{`{"output":{"code":"Bad","message":"too dark"}}`, "Bad: too dark", 0},
		{`{"output":{"code":"Bad"}}`, "Bad", 0},
		{`{"output":{"message":"too dark"}}`, "too dark", 0},
		{`{"output":"x"}`, "", 0},
		{`no JSON`, "", 0},
	} {
		pictures, message := contentOf([]byte(tt.body))
		if message != tt.message || len(pictures) != tt.pictures {
			t.Errorf("%s: %q, %q", tt.body, pictures, message)
		}
	}
}

func TestRequests(t *testing.T) {
	s := newStand(t, false)
	s.note("search", "a", 200, "")
	s.note("shop", "b", 429, "admit/rate")
	s.note("", "c", 401, "authenticate/key")
	s.note("search", "d", 429, "admit/rate")
	for _, tt := range []struct {
		name string
		p    access.Person
		q    recent.Filter
		want int
	}{
		{"all", operator, recent.Filter{}, 4},
		{"a team", operator, recent.Filter{Teams: []string{"search"}}, 2},
		{"refused", operator, recent.Filter{Refusal: "any"}, 3},
		{"a status", operator, recent.Filter{Status: 429, Teams: []string{"shop"}}, 1},
		{"a member", member, recent.Filter{}, 2},
		{"nobody", access.Person{}, recent.Filter{}, 0},
	} {
		if list, err := s.figures.RequestList(t.Context(), tt.p, tt.q); err != nil || len(list.Requests) != tt.want {
			t.Errorf("%s: %d, %v; want %d", tt.name, len(list.Requests), err, tt.want)
		}
	}
	if _, err := s.figures.RequestList(t.Context(), member, recent.Filter{Teams: []string{"shop"}}); !errors.Is(err, ErrAbsent) {
		t.Errorf("a foreign team's requests: %v", err)
	}
	if _, err := s.figures.RequestList(t.Context(), operator, recent.Filter{Cursor: "x"}); !errors.Is(err, ErrQuery) {
		t.Errorf("a made-up cursor: %v", err)
	}
	if r, err := s.figures.Request(t.Context(), member, "d"); err != nil || r.ID != "d" || r.Line == "" {
		t.Errorf("an own request: %+v, %v", r, err)
	}
	for _, id := range []string{"b", "c", "none", ""} {
		if _, err := s.figures.Request(t.Context(), member, id); !errors.Is(err, ErrAbsent) {
			t.Errorf("a member asks for request %q: %v, want ErrAbsent", id, err)
		}
	}
}
