package gateway_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/cache"
	"sluice/gateway"
	"sluice/gateway/stores"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
)

// farStore has stores whose calls last until the test lets them end. It counts each team's concurrent calls.
type farStore struct {
	tasks.Claims
	begun   chan string   // the team of each call that is held up
	proceed chan struct{} // closed: calls end immediately
	end     func()        // closes proceed
	crowded atomic.Int64

	mu    sync.Mutex
	runs  map[string]int
	most  map[string]int
	tasks map[string]bool // of search, that exist; those that are true are known here
}

func (f *farStore) call(team string) func() {
	f.mu.Lock()
	f.runs[team]++
	f.most[team] = max(f.most[team], f.runs[team])
	f.mu.Unlock()
	select {
	case <-f.proceed:
	default:
		f.begun <- team
		<-f.proceed
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runs[team]--
	}
}

func (f *farStore) Get(ctx context.Context, team, task string) (cache.Claim, bool, error) {
	if _, serves := f.Here(team, task); !serves {
		defer f.call(team)()
	}
	return f.Claims.Get(ctx, team, task)
}

func (f *farStore) Here(_, task string) (known, serves bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tasks[task], task == "fresh"
}

func (f *farStore) Exist(_ context.Context, team string, tasks []string) (map[string]bool, error) {
	f.mu.Lock()
	exist := maps.Clone(f.tasks)
	f.mu.Unlock()
	defer f.call(team)()
	for _, task := range tasks {
		if _, ok := exist[task]; !ok {
			delete(exist, task)
		} else {
			exist[task] = true
		}
	}
	return exist, nil
}

// far is a gateway whose stores allow four concurrent calls for each team.
func far(t *testing.T) (*harness, *farStore) {
	f := &farStore{begun: make(chan string, 100), proceed: make(chan struct{}), runs: map[string]int{}, most: map[string]int{},
		tasks: map[string]bool{}}
	f.end = sync.OnceFunc(func() { close(f.proceed) })
	h, _ := tasked(t, func(p *plan) {
		f.Claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims, p.balances = f, farBalances{limit.NewMemory(p.now), f}
		p.remote = &gateway.Remote{Calls: 4, Sight: f, Crowded: func() { f.crowded.Add(1) }}
	})
	t.Cleanup(f.end) // otherwise a test that failed early would wait for its calls forever
	return h, f
}

// farAccounts are the accounts of a farStore.
type farBalances struct {
	stores.Balances
	store *farStore
}

func (a farBalances) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	defer a.store.call(h.Team.ID)()
	return a.Balances.Admit(ctx, h)
}

// has makes a task of search that this process knows, or does not know.
func (f *farStore) has(t *testing.T, task string, here bool) {
	t.Helper()
	text := []byte(`{"request_id":"r","output":{"task_id":"` + task + `","task_status":"SUCCEEDED"}}`)
	if !f.Put(t.Context(), cache.Claim{Team: "search", Task: task, Answer: cache.Answer{Task: task, Status: cache.Succeeded}, Body: text}) {
		t.Fatal("the task is another team's")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[task] = here
}

// polls polls tasks concurrently and returns their answers.
func (h *harness) polls(of map[string]int, headers ...string) <-chan reading {
	answers := make(chan reading, 1000)
	for task, n := range of {
		for range n {
			go func() { answers <- h.poll(task, headers...) }()
		}
	}
	return answers
}

// Polls of invented ids get the team's calls and no more, and are refused beyond them; another team is served meanwhile, and so is a
// poll that needs no call. The team's own tasks wait their turn, whether this process knows them or not: none is refused.
func TestPollsOfInventedIdsTakeNoOtherTeamsShare(t *testing.T) {
	h, f := far(t)
	f.has(t, "known", true)
	f.has(t, "elsewhere", false)
	f.has(t, "fresh", true)
	invented := h.polls(map[string]int{"a": 3})
	for range 3 {
		<-f.begun // the look-ups have all but the last of the team's calls
	}
	more := h.polls(map[string]int{"b": 5, "c": 5})
	<-f.begun // that asks for many tasks together
	own := h.polls(map[string]int{"known": 5, "elsewhere": 5})
	if got := h.poll("fresh"); got.status != 200 {
		t.Errorf("a poll that needs no call: %d %s", got.status, got.body)
	}
	shop := h.polls(map[string]int{"x": 1}, "Authorization", "Bearer "+h.keys["shop"])
	if team := <-f.begun; team != "shop" {
		t.Errorf("a call of %s begins", team)
	}
	f.end()
	(<-shop).wants(t, 404, "recall/task", "NotFound")
	for range 3 {
		(<-invented).wants(t, 404, "recall/task", "NotFound")
	}
	refused := 0
	for range 10 {
		if got := <-more; got.status == 429 {
			got.wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")
			refused++
		} else {
			got.wants(t, 404, "recall/task", "NotFound")
		}
	}
	for range 10 {
		if got := <-own; got.status != 200 {
			t.Errorf("an own task: %d %s", got.status, got.body)
		}
	}
	if f.most["search"] != 4 || f.runs["search"] != 0 || refused == 0 || f.crowded.Load() != int64(refused) {
		t.Errorf("at most %d calls ran at once, want 4; %d run on; %d polls were refused, the bound was noted %d times", f.most["search"],
			f.runs["search"], refused, f.crowded.Load())
	}
}

// A poll is never answered by a look-up that began before it: a task that was made meanwhile is found.
func TestAPollJoinsNoLookThatHasBegun(t *testing.T) {
	h, f := far(t)
	first := h.polls(map[string]int{"a": 3})
	for range 3 {
		<-f.begun
	}
	early := h.polls(map[string]int{"late": 1})
	<-f.begun // Redis has looked for it, and not answered yet
	f.has(t, "late", false)
	own := h.polls(map[string]int{"late": 20})
	f.end()
	(<-early).wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")
	for range 20 {
		if got := <-own; got.status != 200 {
			t.Errorf("an own task: %d %s", got.status, got.body)
		}
	}
	for range 3 {
		(<-first).wants(t, 404, "recall/task", "NotFound")
	}
}

// Admissions wait their turn and are not refused. A team may use its own calls for them and as many spare ones of all teams;
// another team keeps its own.
func TestAdmissionsWaitTheirTurn(t *testing.T) {
	h, f := far(t)
	answers := make(chan reading, 20)
	for range 12 {
		go func() { answers <- h.ask("POST", textPath, textBody) }()
	}
	for range 3 + 4 {
		<-f.begun
	}
	for range 4 {
		go func() { answers <- h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]) }()
	}
	var teams []string
	for range 3 {
		teams = append(teams, <-f.begun)
	}
	f.end()
	for range 16 {
		if got := <-answers; got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if !slices.Equal(teams, []string{"shop", "shop", "shop"}) || f.most["search"] != 3+4 || f.most["shop"] > 3+4 || f.crowded.Load() != 0 {
		t.Errorf("the teams %q began, at most %v calls ran at once", teams, f.most)
	}
}

// A client that leaves while its request waits ends the wait.
func TestAnAdmissionDoesNotOutwaitItsClient(t *testing.T) {
	h, f := far(t)
	answers := make(chan reading, 20)
	for range 3 + 4 {
		go func() { answers <- h.ask("POST", textPath, textBody) }()
	}
	for range 3 + 4 {
		<-f.begun
	}
	left := h.dial()
	_, _ = io.WriteString(left, h.post())
	_ = left.Close()
	h.records.await(t, 1)
	f.end()
	for range 3 + 4 {
		if got := <-answers; got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}
