package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

const (
	imageURL  = "/api/v1/services/aigc/image-generation/generation"
	imageTask = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"a lighthouse"},` +
		`{"image":"https://example.com/a.png"}]}]},"parameters":{"n":%d}}`
)

// taskReplicas are gateways in other processes, which can be killed, over one Redis and one service.
type taskReplicas struct {
	*testing.T
	server  *redisServer
	service *simulator.Simulator
	client  *http.Client
	environ []string
	mu      sync.Mutex
	gates   []*gatewayProcess
}

func startTaskReplicas(t *testing.T, n int, config simulator.Config, variables ...string) *taskReplicas {
	t.Helper()
	r := &taskReplicas{T: t, server: startRedis(t), client: newClient(t)}
	service, upstream := newService(t, config)
	r.service = service
	r.environ = append(crashEnviron(t, r.server, upstream.URL), "SLUICE_POLL_INTERVAL=200ms", "SLUICE_REDIS_TIMEOUT=2s",
		fmt.Sprintf("SLUICE_REPLICAS=%d", n))
	r.environ = append(r.environ, variables...)
	for range n {
		r.gates = append(r.gates, startGatewayProcess(t, r.environ))
	}
	return r
}

func (r *taskReplicas) base(i int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "http://" + r.gates[i%len(r.gates)].public
}

// restart kills a replica and starts another in its place.
func (r *taskReplicas) restart(i int) {
	r.mu.Lock()
	old := r.gates[i]
	r.mu.Unlock()
	old.kill()
	fresh := startGatewayProcess(r.T, r.environ)
	r.mu.Lock()
	r.gates[i] = fresh
	r.mu.Unlock()
}

// create creates a task at a replica and returns its id; empty: the replica was killed meanwhile.
func (r *taskReplicas) create(i, n int) string { return r.createAt(r.base(i), n) }

func (r *taskReplicas) createAt(base string, n int) string {
	request, err := http.NewRequest(http.MethodPost, base+imageURL, strings.NewReader(fmt.Sprintf(imageTask, n)))
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Service-Async", "enable")
	_, id, _ := r.send(request)
	return id
}

// poll polls a task at a replica and returns its state; empty: the replica was killed meanwhile.
func (r *taskReplicas) poll(i int, id string) (state string) {
	state, _ = r.pollAsking(i, id)
	return state
}

// pollAsking is poll, and reports whether the replica queried upstream for it.
func (r *taskReplicas) pollAsking(i int, id string) (state string, asked bool) {
	request, err := http.NewRequest(http.MethodGet, r.base(i)+"/api/v1/tasks/"+id, http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	state, _, header := r.send(request)
	return state, strings.Contains(header.Get("Cache-Status"), "fwd=uri-miss")
}

func (r *taskReplicas) send(request *http.Request) (state, id string, header http.Header) {
	answer, err := r.client.Do(request)
	if err != nil {
		return "", "", nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", "", nil
	}
	if answer.StatusCode != http.StatusOK {
		r.Errorf("%s %s: %s %s", request.Method, request.URL.Path, answer.Status, text)
	}
	var body struct {
		Output struct {
			State string `json:"task_status"`
			ID    string `json:"task_id"`
		} `json:"output"`
	}
	_ = json.Unmarshal(text, &body)
	return body.Output.State, body.Output.ID, answer.Header
}

// images returns the images charged in the ledger, and those held.
func (r *taskReplicas) images() (charged, held int64) {
	k := &ledgerkeeper{T: r.T, team: parseTeam(r.T, "search")}
	return k.used(r.server, "images")
}

// A team can poll a task at every replica, whichever created it: upstream is queried once an interval for all, and the end
// is charged once.
func TestATaskOverReplicas(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: 500 * time.Millisecond, TaskRate: -1})
	id := r.create(0, 3)
	begun := time.Now()
	var polling sync.WaitGroup
	for n := range 40 {
		polling.Go(func() {
			for r.poll(n, id) != "SUCCEEDED" {
				time.Sleep(5 * time.Millisecond) // a client that polls almost without a pause
			}
		})
	}
	polling.Wait()
	if asked, most := r.service.Count(simulator.EndpointTask), int(time.Since(begun)/(200*time.Millisecond))+2; asked > most {
		t.Errorf("upstream was queried %d times, want at most %d", asked, most)
	}
	asked := r.service.Count(simulator.EndpointTask)
	for n := range 100 {
		r.poll(n, id)
	}
	if n := r.service.Count(simulator.EndpointTask); n != asked {
		t.Errorf("upstream was queried %d times about a task that has ended", n-asked)
	}
	wait(t, "it is charged", func() bool { charged, held := r.images(); return charged == 3 && held == 0 })
}

// Three replicas, tasks of random outcome, five pollers each, and replicas that are killed at random. Every task is
// charged once, by the service's bill. The figure of a thousand tasks: LONG=1 go test -v -run Q06 ./cmd/sluice.
func TestTasksAndKilledReplicas(t *testing.T) {
	t.Parallel()
	tasks, rate := 30, 20
	if isLong() {
		tasks, rate = 1000, 200
	}
	r := startTaskReplicas(t, 3, simulator.Config{Running: 300 * time.Millisecond, TaskRate: rate},
		"SLUICE_POLL_INTERVAL=500ms", fmt.Sprintf("SLUICE_TASK_QUERY_RATE=%d", rate))
	var ids []string
	for n := range tasks {
		outcome := []string{"succeed", "partial", "fail", "cancel", "fail_pending"}[rand.IntN(5)]
		r.service.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: outcome}})
		ids = append(ids, r.create(n, 1+n%4))
	}
	r.service.SetFault()
	stop := make(chan struct{})
	var killing, polling sync.WaitGroup
	killing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				r.restart(rand.IntN(3))
			}
		}
	})
	polled := ids[:len(ids)*2/3] // the others are not polled
	begun := time.Now()
	for n := range 5 {
		polling.Go(func() {
			for _, id := range polled {
				for state := ""; time.Since(begun) < patience && !final(state); {
					if state = r.poll(n, id); !final(state) {
						time.Sleep(10 * time.Millisecond)
					}
				}
			}
		})
	}
	polling.Wait()
	close(stop)
	killing.Wait()
	for begun := time.Now(); r.server.do("ZCARD", "sl1:{search}:open").(int64) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 5*patience {
			t.Fatalf("%v holds are still open", r.server.do("ZCARD", "sl1:{search}:open"))
		}
	}
	charged, held := r.images()
	billed := r.service.Tally().Images
	t.Logf("%d tasks: %d images billed and %d charged, %d task queries", tasks, billed, charged, r.service.Count(simulator.EndpointTask))
	if charged != billed || held != 0 {
		t.Errorf("%d images are charged and %d held, the service billed %d", charged, held, billed)
	}
}

func final(state string) bool {
	return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELED"
}

// Redis is away when a task is created: its creator gets the answer, its replica knows the task immediately, and all others once
// Redis is back.
func TestClaimedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 1, simulator.Config{Running: time.Second, TaskRate: -1})
	r.server.kill()
	id := r.create(0, 2)
	if id == "" || r.poll(0, id) == "" {
		t.Fatalf("task %q was not made or is not known", id)
	}
	r.server.start()
	second := startGatewayProcess(t, r.environ)
	r.gates = append(r.gates, second)
	wait(t, "the other replica knows it", func() bool {
		n, _ := r.server.admin.Exists(t.Context(), "sl1:{search}:task:"+id).Result()
		return n == 1
	})
	wait(t, "it ends", func() bool { return r.poll(1, id) == "SUCCEEDED" })
	wait(t, "it is charged", func() bool { charged, held := r.images(); return charged == 2 && held == 0 })
}

// If one replica created a task while Redis was away, another denies it neither before nor after Redis is back.
func TestATaskMadeInAnOutageIsNeverDenied(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Hour, TaskRate: -1})
	r.create(1, 1) // the team is known there
	r.server.kill()
	id := r.create(0, 1)
	request, err := http.NewRequest(http.MethodGet, r.base(1)+"/api/v1/tasks/"+id, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	status := 0
	poll := func() {
		answer, err := r.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if status = answer.StatusCode; status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("a poll is answered %d", status)
		}
	}
	poll()
	r.server.start()
	for begun := time.Now(); status != http.StatusOK; poll() {
		if time.Since(begun) > patience {
			t.Fatal("the other replica never finds the task")
		}
	}
}

// 200 pollers of 20 clients on two replicas cost upstream one query per task and interval. The figure of a minute:
// LONG=1 go test -v -run A133 ./cmd/sluice.
func TestManyPollersOverReplicas(t *testing.T) {
	long, tasks, interval := 3*time.Second, 10, 500*time.Millisecond
	if isLong() {
		long = time.Minute
	}
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Hour, TaskRate: -1}, "SLUICE_POLL_INTERVAL=500ms",
		"SLUICE_TASK_QUERY_RATE=1000")
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
	begun := time.Now()
	var ids []string
	for n := range tasks {
		ids = append(ids, r.create(n, 1))
	}
	end := time.Now().Add(long)
	var polls atomic.Int64
	var polling sync.WaitGroup
	for n := range 200 {
		polling.Go(func() {
			for time.Now().Before(end) {
				if r.poll(n, ids[n%tasks]) == "" {
					t.Error("a poll was not answered")
				}
				polls.Add(1)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	polling.Wait()
	asked, most := r.service.Count(simulator.EndpointTask), tasks*(int(time.Since(begun)/interval)+1)
	t.Logf("%d polls of %d tasks in %v: %d queries, at most %d are allowed", polls.Load(), tasks, long, asked, most)
	if asked > most || asked < tasks || polls.Load() <= int64(most) {
		t.Errorf("%d queries, at most %d are allowed", asked, most)
	}
}

// A poll that meets another replica's query gets that query's answer, not an older one.
func TestAPollHearsWhatAnotherReplicaIsTold(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Hour, TaskRate: -1}, "SLUICE_POLL_INTERVAL=1s")
	id := r.create(0, 1)
	r.poll(1, id)
	r.service.SetFault(simulator.Fault{On: simulator.EndpointTask, Stall: "before"})
	var polling sync.WaitGroup
	polling.Go(func() {
		for r.service.Count(simulator.EndpointTask) == 0 && t.Context().Err() == nil {
			r.ask(0, id)
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err := r.service.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1500*time.Millisecond, func() { r.service.SetFault(); r.service.Release() })
	if got := r.ask(1, id); got.Get("Age") != "0" || got.Get("Cache-Status") != "sluice;fwd=uri-miss;collapsed" {
		t.Errorf("Age: %s, Cache-Status: %s", got.Get("Age"), got.Get("Cache-Status"))
	}
	polling.Wait()
}

// A hundred open tasks and a thousand polls a second stay within the account's 20 queries a second, and every poll is answered.
func TestQueriesStayInsideTheAccountsRate(t *testing.T) {
	t.Parallel()
	long := 3 * time.Second
	if isLong() {
		long = time.Minute
	}
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Hour, TaskRate: -1})
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
	var ids []string
	for n := range 100 {
		ids = append(ids, r.create(n, 1))
	}
	begun := time.Now()
	end := begun.Add(long)
	var polls atomic.Int64
	var polling sync.WaitGroup
	for n := range 100 {
		polling.Go(func() {
			for time.Now().Before(end) {
				if r.poll(n, ids[n]) == "" {
					t.Error("a poll was not answered")
				}
				polls.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	polling.Wait()
	var asked []time.Time
	for _, got := range r.service.Requests() {
		if got.Endpoint == simulator.EndpointTask && got.At.After(begun) {
			asked = append(asked, got.At)
		}
	}
	most := 0
	for i := range asked {
		n := 0
		for _, at := range asked[i:] {
			if at.Sub(asked[i]) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	t.Logf("%d polls in %v, %d queries, at most %d in a second", polls.Load(), long, len(asked), most)
	all := 20 * (int(time.Since(begun)/time.Second) + 2)
	if len(asked) > all || len(asked) == 0 {
		t.Errorf("%d queries, at most %d are allowed", len(asked), all)
	}
	// By arrival: a query that was delayed on its way is closer to the next.
	if isLong() && (most > 20 || most < 10 || polls.Load() <= int64(all)) {
		t.Errorf("%d queries in a second, and %d for %d polls", most, len(asked), polls.Load())
	}
}

// A task is its creation's span, queries of upstream linked to it, and a task span below it, over all replicas.
func TestSpansOfATaskOverReplicas(t *testing.T) {
	t.Parallel()
	collector := newCollector(t, nil)
	r := startTaskReplicas(t, 2, simulator.Config{Pending: 300 * time.Millisecond, Running: 300 * time.Millisecond},
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.server.URL, "OTEL_BSP_SCHEDULE_DELAY=20")
	id := r.create(0, 2)
	// A replica's count reaches the others with its next query of upstream. So the polls go to one until it makes a query, then to the next.
	polls, queried := 0, 0
	for state := ""; !final(state); polls++ {
		var asked bool
		if state, asked = r.pollAsking(queried, id); asked {
			queried++
		}
		<-time.After(20 * time.Millisecond)
	}
	r.poll(0, id) // after the end: from the cache
	for _, g := range r.gates {
		g.terminate(t)
	}
	creation, task := collector.one("generate_content gen2.6-image"), collector.one("task gen2.6-image")
	if task.parent() != creation.id() || task.trace() != creation.trace() {
		t.Error("the task is not below its creation")
	}
	creation.has(t, map[string]any{"gen_ai.operation.name": "generate_content", "gen_ai.output.type": "image",
		"gen_ai.request.choice.count": 2})
	queries := collector.named("fetch_response gen2.6-image")
	for _, q := range queries {
		if !q.linked(creation.trace(), creation.id()) || q.trace() == creation.trace() {
			t.Errorf("a query is not linked: %v", q.GetLinks())
		}
		q.has(t, map[string]any{"gen_ai.operation.name": "fetch_response", "gen_ai.usage.input_tokens": nil, "gen_ai.usage.output_tokens": nil,
			"sluice.usage.images": nil})
	}
	task.has(t, map[string]any{"sluice.task.outcome": "succeeded", "sluice.usage.images": 2, "sluice.task": id, "sluice.team": "search",
		"sluice.task.polls.sent": len(queries), "sluice.task.polls.served": polls})
	for _, name := range []string{"sluice.task.queue_time", "sluice.task.run_time"} {
		if seconds, _ := task.attributes[name].(float64); seconds < 0.25 || isLong() && seconds > 5 {
			t.Errorf("%s is %v", name, task.attributes[name])
		}
	}
	if n := len(collector.named("GET /api/v1/tasks/{id}")); n != polls+1 {
		t.Errorf("%d spans of %d polls", n, polls+1)
	}
}

// A stream at one replica hears of tasks that end at another, also of those that end while Redis is away; a replica that stops ends its
// streams in order.
func TestAStreamOverReplicas(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{TaskRate: -1}, "SLUICE_POLL_INTERVAL=100ms", "SLUICE_REDIS_TIMEOUT=100ms")
	var l *hearer
	wait(t, "a stream is open", func() bool { // a busy machine may make a call of Redis too slow
		l = hear(t, r.base(0), "", "")
		return l.status == http.StatusOK
	})
	r.create(1, 1)
	first := l.waitFor(1)
	r.server.signal(syscall.SIGSTOP)
	task := r.create(1, 1)
	wait(t, "it ends while Redis is away", func() bool { return final(r.poll(1, task)) })
	r.server.signal(syscall.SIGCONT)
	heard := l.waitFor(2)
	if event := l.event(1); !strings.Contains(event, task) || heard[1] == "gap" {
		t.Error(heard, event)
	}
	r.gates[0].terminate(t)
	wait(t, "the stream ends in order", l.ended)
	if got := hear(t, r.base(1), "", first[0]).waitFor(1); !slices.Equal(got, heard[1:]) {
		t.Errorf("%v, want %v", got, heard[1:])
	}
}
