package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

var async = []string{"X-Service-Async", "enable"}

// handClock is a clock that the test moves.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// tasked is a harness whose gateway and simulator share a clock that the test moves; a task waits for a second and runs for
// ten.
func tasked(t testing.TB, changes ...func(*plan)) (*harness, *handClock) {
	clock := &handClock{at: time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)} // hours that a test lets pass are of one day
	h := build(t, append([]func(*plan){func(p *plan) {
		p.now, p.sim.Now = clock.now, clock.now
		p.sim.Pending, p.sim.Running = time.Second, 10*time.Second
		p.config.PollInterval = 5 * time.Second
	}}, changes...)...)
	return h, clock
}

func (h *harness) create(t testing.TB, headers ...string) string {
	t.Helper()
	id := h.ask("POST", imagePath, imageBody, append(async, headers...)...).member(t, "output", "task_id")
	if id == "" {
		t.Fatal("no task was made")
	}
	return id
}

func (h *harness) poll(id string, headers ...string) reading {
	return h.ask("GET", tasksPath+"/"+id, "", headers...)
}

// A task is queried once an interval, and never again once its answer is final. The headers report the source of each answer.
func TestPollsAreAnsweredFromWhatIsKnown(t *testing.T) {
	h, clock := tasked(t)
	id := h.create(t)
	for n, tt := range []struct {
		move           time.Duration
		state          string
		status, age    string
		cache          string
		upstreamLooked int
	}{
		{0, "PENDING", "sluice;hit;ttl=5", "0", "hit", 0}, // the creation's own answer is the first
		{2 * time.Second, "PENDING", "sluice;hit;ttl=3", "2", "hit", 0},
		{3 * time.Second, "RUNNING", "sluice;fwd=uri-miss;stored", "0", "miss", 1},
		{time.Second, "RUNNING", "sluice;hit;ttl=4", "1", "hit", 1},
		{10 * time.Second, "SUCCEEDED", "sluice;fwd=uri-miss;stored", "0", "miss", 2},
		{time.Hour, "SUCCEEDED", "sluice;hit;ttl=82784", "3600", "hit", 2},
	} {
		clock.move(tt.move)
		got := h.poll(id)
		if got.status != 200 || got.member(t, "output", "task_status") != tt.state || got.header.Get("Cache-Status") != tt.status ||
			got.header.Get("Age") != tt.age {
			t.Errorf("poll %d: %d %s, Cache-Status %s, Age %s; want %+v", n, got.status, got.body, got.header.Get("Cache-Status"),
				got.header.Get("Age"), tt)
		}
		if looked := h.sim.Count(simulator.EndpointTask); looked != tt.upstreamLooked {
			t.Errorf("poll %d: upstream was queried %d times, want %d", n, looked, tt.upstreamLooked)
		}
		if record := h.records.await(t, n+2)[n+1]; record.Cache != tt.cache {
			t.Errorf("poll %d: the log says %s, want %s", n, record.Cache, tt.cache)
		}
	}
}

// A thousand clients poll a task concurrently, and upstream is queried once.
func TestPollsCollapse(t *testing.T) {
	h, clock := tasked(t)
	id := h.create(t)
	clock.move(6 * time.Second)
	var polling sync.WaitGroup
	var collapsed atomic.Int64
	for range 50 {
		polling.Go(func() {
			for range 20 {
				got := h.poll(id)
				if got.status != 200 || got.member(t, "output", "task_status") != "RUNNING" {
					t.Errorf("%d %s", got.status, got.body)
				}
				if got.header.Get("Cache-Status") == "sluice;fwd=uri-miss;collapsed" {
					collapsed.Add(1)
				}
			}
		})
	}
	polling.Wait()
	if n := h.sim.Count(simulator.EndpointTask); n != 1 {
		t.Errorf("upstream was queried %d times for 1,000 polls", n)
	}
}

// However often the end is reported, it is charged once, by the images made.
func TestChargedOnce(t *testing.T) {
	h, clock := tasked(t, limited("quotas: {images: {day: 100}}"))
	id := h.create(t)
	clock.move(time.Minute)
	for range 1000 {
		if got := h.poll(id); got.member(t, "output", "task_status") != "SUCCEEDED" {
			t.Fatalf("%s", got.body)
		}
	}
	h.stands(t, "images", "1", "0", 0)
	if n := h.sim.Count(simulator.EndpointTask); n != 1 {
		t.Errorf("upstream was queried %d times", n)
	}
}

// stands checks the used and held amounts of a team's daily quota of a unit, and the number of open tasks.
func (h *harness) stands(t testing.TB, unit, used, held string, open int) {
	t.Helper()
	got := h.ask("GET", "/sluice/v1/usage", "").body
	if want := fmt.Sprintf(`"used":%s,"held":%s`, used, held); !strings.Contains(got, `{"unit":"`+unit+`","period":"day"`) ||
		!strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf(`"used":%d,"tasks"`, open)) {
		t.Errorf("want %s %s and %d open tasks in %s", unit, want, open, got)
	}
}

// A task is known for as long as the service knows it, and its final answer lives no longer.
func TestEndOfLife(t *testing.T) {
	h, clock := tasked(t)
	id := h.create(t)
	clock.move(24*time.Hour - time.Minute)
	if got := h.poll(id); got.header.Get("Cache-Status") != "sluice;fwd=uri-miss;stored" {
		t.Errorf("%v", got.header)
	}
	if got := h.poll(id); got.header.Get("Cache-Status") != "sluice;hit;ttl=60" {
		t.Errorf("%v", got.header)
	}
	clock.move(time.Minute + time.Second)
	h.poll(id).wants(t, 404, "recall/task", "NotFound")
}

// Another team's task is absent, even if its answer is cached.
func TestForeignTask(t *testing.T) {
	h, clock := tasked(t)
	id := h.create(t)
	clock.move(time.Minute)
	h.poll(id)
	looked := h.sim.Count(simulator.EndpointTask)
	h.poll(id, "Authorization", "Bearer "+h.keys["shop"]).wants(t, 404, "recall/task", "NotFound")
	if n := h.sim.Count(simulator.EndpointTask); n != looked {
		t.Error("upstream was queried about another team's task")
	}
}

// If no query is left, or upstream fails, the last known answer is served and marked as stale.
func TestStaleAnswers(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.queryRate = 1 })
	first, second := h.create(t), h.create(t)
	clock.move(8 * time.Second)
	if got := h.poll(first); got.header.Get("Cache-Status") != "sluice;fwd=uri-miss;stored" {
		t.Errorf("%v", got.header)
	}
	if got := h.poll(second); got.status != 200 || got.header.Get("Cache-Status") != "sluice;hit;ttl=-3;detail=stale" ||
		got.header.Get("Age") != "8" || got.member(t, "output", "task_status") != "PENDING" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	clock.move(2 * time.Second)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Error: &simulator.FaultError{Status: 500}})
	if got := h.poll(second); got.status != 200 || got.header.Get("Cache-Status") != "sluice;hit;ttl=-5;detail=stale" {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// Prefer: wait holds a poll until the state changes.
func TestPreferWait(t *testing.T) {
	parallel(t)
	h, clock := tasked(t)
	id := h.create(t)
	changed := make(chan reading)
	go func() { changed <- h.poll(id, "Prefer", "respond-async, wait=30") }()
	for {
		select {
		case got := <-changed:
			if got.member(t, "output", "task_status") == "PENDING" || got.header.Get("Preference-Applied") != "wait=30" {
				t.Errorf("%v %s", got.header, got.body)
			}
			return
		case <-time.After(time.Millisecond):
			clock.move(100 * time.Millisecond)
		}
	}
}

func TestPreferWaitIsBounded(t *testing.T) {
	parallel(t)
	h, _ := tasked(t, limited("concurrent: 1"))
	id := h.create(t)
	begun := time.Now()
	got := h.poll(id, "Prefer", "wait=1")
	if took := time.Since(begun); took < time.Second || got.member(t, "output", "task_status") != "PENDING" ||
		got.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("after %v: %v", took, got.header)
	}
	ctx, leave := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		if resp, err := h.client.Do(h.request("GET", tasksPath+"/"+id, "", "Prefer", "wait=60").WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	for h.gateway.Waiting("search") == 0 {
		time.Sleep(time.Millisecond)
	}
	if got := h.poll(id, "Prefer", "wait=1"); got.header.Get("Preference-Applied") != "" {
		t.Error("two polls of the team are held")
	}
	leave()
	<-held
	for _, text := range []string{"wait", "wait=", "wait=x", "wait=-1", "wait=1e3", "waited=5"} {
		if got := h.poll(id, "Prefer", text); got.header.Get("Preference-Applied") != "" {
			t.Errorf("Prefer: %s was applied", text)
		}
	}
}

// A creation with an Idempotency-Key runs once; its answer is repeated.
func TestIdempotencyKey(t *testing.T) {
	h, _ := tasked(t, limited("quotas: {images: {day: 100}}"))
	key := []string{"Idempotency-Key", "order-17"}
	first := h.ask("POST", imagePath, imageBody, append(async, key...)...)
	again := h.ask("POST", imagePath, imageBody, append(async, key...)...)
	if first.status != 200 || again.status != 200 || again.body != first.body || again.header.Get("Sluice-Held") != "images=1" {
		t.Errorf("first %d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	h.ask("POST", imagePath, strings.Replace(imageBody, "lighthouse", "bridge", 1), append(async, key...)...).
		wants(t, 422, "admit/idempotency", "InvalidParameter")
	h.ask("POST", imagePath, imageBody, append(async, "Idempotency-Key", strings.Repeat("k", 256))...).
		wants(t, 422, "admit/idempotency", "InvalidParameter")
	if other := h.ask("POST", imagePath, imageBody, append(async,
		append(key, "Authorization", "Bearer "+h.keys["shop"])...)...); other.status != 200 || other.body == first.body {
		t.Errorf("another team's key is another: %d %s", other.status, other.body)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 2 {
		t.Errorf("%d creations reached the service, want 2", n)
	}
	h.stands(t, "images", "0", "1", 1)
}

// A request that certainly created no task may run again; the answer of one that may have created one is repeated, and it
// never runs again.
func TestIdempotencyOutcomes(t *testing.T) {
	h, _ := tasked(t)
	key := append(async, "Idempotency-Key", "a")
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Error: &simulator.FaultError{Status: 429}})
	if got := h.ask("POST", imagePath, imageBody, key...); got.status != 429 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Drop: "close"})
	lost := h.ask("POST", imagePath, imageBody, key...)
	lost.wants(t, 502, "forward/answer", "InternalError")
	h.sim.SetFault()
	again := h.ask("POST", imagePath, imageBody, key...)
	if again.status != 502 || again.body != lost.body || again.header.Get("Sluice-Refusal") != "forward/answer" {
		t.Errorf("%d %s, want the same again: %s", again.status, again.body, lost.body)
	}
}

func TestIdempotencyWhileItRuns(t *testing.T) {
	h, _ := tasked(t)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Stall: "before"})
	key := append(async, "Idempotency-Key", "a")
	ctx, leave := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		defer close(running)
		if resp, err := h.client.Do(h.request("POST", imagePath, imageBody, key...).WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	got := h.ask("POST", imagePath, imageBody, key...)
	got.wants(t, 409, "admit/idempotency", "InvalidParameter")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	leave()
	<-running
	h.sim.SetFault()
	h.sim.Release()
	h.records.await(t, 2)
}

// A thousand tasks without polls are all settled, by the images made, within the query rate.
func TestAbandonedTasks(t *testing.T) {
	h, clock := tasked(t, limited("quotas: {images: {day: 100000}}"), func(p *plan) {
		p.queryRate, p.sim.TaskRate = 20, 20
		p.headerTime, p.readTime = time.Hour, time.Hour // a busy machine may be slow to read one of the many requests
	})
	for range 1000 {
		h.create(t)
	}
	h.stands(t, "images", "0", "1000", 1000)
	seconds := 0
	for ; seconds < 600; seconds++ {
		clock.move(time.Second + 100*time.Millisecond)
		h.gateway.Finish(t.Context())
		if seconds%20 == 19 && strings.Contains(h.ask("GET", "/sluice/v1/usage", "").body, `"used":0,"tasks"`) {
			break
		}
	}
	h.stands(t, "images", "1000", "0", 0)
	t.Logf("1,000 abandoned tasks were settled in %d s with %d queries", seconds, h.sim.Count(simulator.EndpointTask))
}

func days(from time.Time, n int) (list []int) {
	for i := range n {
		day := from.UTC().AddDate(0, 0, i)
		list = append(list, day.Year()*10000+int(day.Month())*100+day.Day())
	}
	return list
}

// An answer about another task, an error, and invalid JSON are never shown as the task's and never kept.
func TestForeignAnswers(t *testing.T) {
	for _, body := range []string{
		`{"output":{"task_id":"somebody-elses","task_status":"SUCCEEDED"},"request_id":"r"}`, `{"code":"InternalError","message":"m"}`, `<html>`,
		``,
		`{"output":{"task_id":"","task_status":"SUCCEEDED"}}`,
	} {
		h, clock := tasked(t)
		id := h.create(t)
		clock.move(6 * time.Second)
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Body: &body})
		if got := h.poll(id); got.status != 200 || got.member(t, "output", "task_id") != id ||
			!strings.Contains(got.header.Get("Cache-Status"), "stale") {
			t.Errorf("%s: %d %v %s", body, got.status, got.header, got.body)
		}
		h.sim.SetFault()
		looked := h.sim.Count(simulator.EndpointTask)
		for range 10 { // upstream was queried a moment ago
			h.poll(id)
		}
		if n := h.sim.Count(simulator.EndpointTask); n != looked {
			t.Errorf("after %s upstream was queried again %d times at once", body, n-looked)
		}
		clock.move(5 * time.Second)
		if got := h.poll(id); got.member(t, "output", "task_status") == "PENDING" {
			t.Errorf("after %s: %s", body, got.body)
		}
	}
}

// An impossible task id never reaches the state or upstream.
func TestOddTaskIDs(t *testing.T) {
	h, _ := tasked(t)
	for _, id := range []string{"a%0d%0ab", "a%20b", "*", "a%2fb", "%7Bsearch%7D:quota", strings.Repeat("a", 257), "%00", "%2e", "%2e%2e",
		"a~%3a"} {
		h.poll(id).wants(t, 404, "route/path", "NotFound")
	}
	if n := h.sim.Count(simulator.EndpointTask); n != 0 {
		t.Errorf("%d reached upstream", n)
	}
}

// A task of a removed team is still finished and charged.
func TestRemovedTeamsTasksAreFinished(t *testing.T) {
	h, clock := tasked(t)
	h.create(t)
	clock.move(time.Minute)
	file, err := teams.Parse([]byte("teams: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	h.gateway.SetTeams(file)
	h.gateway.Finish(t.Context())
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now(), 1)})
	if err != nil || len(rows) != 1 || rows[0].Used[limit.Images] != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A task's end is charged by the images made: by the answer's count or by its pictures; nothing if it made none; as held if
// neither is there.
func TestWhatAnEndCharges(t *testing.T) {
	count := func(n int) *int { return &n }
	for _, tt := range []struct {
		about string
		task  simulator.FaultTask
		n     int
		want  string
	}{
		{"all", simulator.FaultTask{}, 3, "3"},
		{"a part", simulator.FaultTask{Outcome: "partial", Failed: 2}, 3, "1"},
		{"failed", simulator.FaultTask{Outcome: "fail"}, 3, "0"},
		{"cancelled", simulator.FaultTask{Outcome: "cancel"}, 3, "0"},
		{"none counted", simulator.FaultTask{ImageCount: count(0)}, 3, "0"},
		{"more than held", simulator.FaultTask{ImageCount: count(5)}, 3, "5"},
		{"not told, so counted", simulator.FaultTask{NoImageCount: true}, 3, "3"},
	} {
		h, clock := tasked(t, limited("quotas: {images: {day: 100}}"))
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &tt.task})
		id := h.ask("POST", imagePath, strings.Replace(imageBody, `"n":1`, fmt.Sprintf(`"n":%d`, tt.n), 1), async...).
			member(t, "output", "task_id")
		h.stands(t, "images", "0", fmt.Sprint(tt.n), 1)
		clock.move(time.Minute)
		h.poll(id)
		h.stands(t, "images", tt.want, "0", 0)
	}
}

// Beside teams whose clients poll, the finisher still gets the unused queries, and a task whose answer was overtaken by a later
// state is not queried again immediately.
func TestFinisherBesideClients(t *testing.T) {
	clock := &handClock{at: time.Now()}
	queries := cache.NewQueries(20, clock.now)
	finished := 0
	for range 600 {
		clock.move(1100 * time.Millisecond)
		for team := range 9 {
			_, _ = queries.Allow(t.Context(), cache.Wish{Team: fmt.Sprint("team", team)})
		}
		for range 20 {
			if ok, _ := queries.Allow(t.Context(), cache.Wish{Team: "finished", Spare: true}); ok {
				finished++
			}
		}
	}
	if finished < 600 {
		t.Errorf("the finisher got %d queries in 11 minutes, beside 9 a second of clients", finished)
	}
}

// The next poll of a cancelled task shows that, and the task holds nothing any more.
func TestCancelIsKnownAtOnce(t *testing.T) {
	h, _ := tasked(t, limited("quotas: {images: {day: 100}}"))
	id := h.create(t)
	if got := h.ask("POST", tasksPath+"/"+id+"/cancel", ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := h.poll(id); got.member(t, "output", "task_status") != "CANCELED" {
		t.Errorf("%s", got.body)
	}
	h.stands(t, "images", "0", "0", 0)
}
