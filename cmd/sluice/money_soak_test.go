package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// moneySoak is three replicas with one Redis in front of a service that writes a bill, and clients of every kind.
type moneySoak struct {
	*testing.T
	server  *redisServer
	service *simulator.Simulator
	environ []string
	gates   [3]atomic.Pointer[gatewayProcess] // nil: stopped
	client  *http.Client
	begun   time.Time
	tasks   sync.Map // ids of tasks whose client polls them
	sent    atomic.Int64
	lost    atomic.Int64 // without an answer: the replica was killed
}

// soakRequest is a request of the soak.
type soakRequest struct {
	path, body, header string // the header is switched on
	leaves             bool   // its client leaves inside of the answer
}

// chatOf is a chat with messages "role: text" on the text path; native and OpenAI's requests have the same messages.
func chatOf(model, members string, messages ...string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]},"parameters":{"result_format":"message"%s}}`, model, messagesOf(messages), members)
}

func openaiChatOf(model, members string, messages ...string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[%s]%s}`, model, messagesOf(messages), members)
}

func messagesOf(messages []string) string {
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	return strings.Join(list, ",")
}

func imageOf(model, items, parameters string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[{"role":"user","content":[{"text":"A mill by a river"}%s]}]},"parameters":{%s}}`, model, items, parameters)
}

// soakRequests have every kind of work that the service bills.
func soakRequests() []soakRequest {
	const (
		multimodal, older = "/api/v1" + multimodalPath, "/api/v1/services/aigc/text2image/image-synthesis"
		picture           = `,{"image":"https://pictures.example/mill.png"}`
		sse, async        = "X-Service-SSE", "X-Service-Async"
		openai            = "/v1/chat/completions"
	)
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("wave ", n)) }
	long := []string{"system: " + words(300), "user: What is a sluice?", "assistant: A gate for water.", "user: And a weir?"}
	marked := strings.NewReplacer(`"content":"`, `"content":[{"cache_control":{"type":"ephemeral"},"text":"`, `"}`, `"}]}`)
	return []soakRequest{
		{path: textURL, body: demoText},
		{path: textURL, body: demoStream, header: sse},
		{path: textURL, body: demoStream, header: sse, leaves: true},
		{path: textURL, body: chatOf("llm-max", "", long...)},
		{path: textURL, body: chatOf("llm-max", `,"incremental_output":true`, long...), header: sse, leaves: true},
		{path: textURL, body: chatOf("llm-plus", `,"max_tokens":50`, "user: "+words(2100), "assistant: "+words(20), "user: why")},
		{path: textURL, body: chatOf("llm-plus", `,"enable_thinking":true,"incremental_output":true`, "user: Should the gate be opened?"), header: sse},
		{path: textURL, body: chatOf("llm-max", `,"n":2`, "user: What is a mill?")},
		{path: multimodal, body: marked.Replace(chatOf("llm-max", `,"max_tokens":20`, "user: "+words(200), "assistant: "+words(50), "user: "+words(40)))},
		{path: multimodal, body: imageOf("llm-vl-max", picture+`,{"audio":"https://a.example/b.wav"},{"video":"https://a.example/b.mp4"}`, `"max_tokens":20`)},
		{path: multimodal, body: imageOf("llm-image-2.0", "", `"size":"1024*768"`)},
		{path: multimodal, body: imageOf("llm-image-2.0", "", `"size":"1664*928"`)},
		{path: multimodal, body: imageOf("gen2.6-image", "", `"stream":true,"enable_interleave":true,"max_images":3`), header: sse},
		{path: imageURL, body: imageOf("gen2.6-image", picture, `"n":2,"size":"1280*1280"`), header: async},
		{path: imageURL, body: imageOf("gen2.6-image", picture, `"n":1,"size":"1024*1024"`), header: async},
		{path: imageURL, body: imageOf("gen2.6-image", picture, ``), header: async},
		{path: older, body: `{"model":"gen2.5-t2i","input":{"prompt":"A lighthouse"},"parameters":{"n":1}}`, header: async},
		{path: openai, body: openaiChatOf("llm-max", "", long...)},
		{path: openai, body: openaiChatOf("llm-plus", `,"stream":true`, long...)},
		{path: openai, body: openaiChatOf("llm-plus", `,"stream":true,"stream_options":{"include_usage":true}`, long...), leaves: true},
		{path: "/v1/images/generations", body: `{"model":"gen2.5-t2i","prompt":"A mill in winter","n":1}`},
	}
}

func newMoneySoak(t *testing.T) *moneySoak {
	t.Helper()
	s := &moneySoak{T: t, server: startRedis(t), client: newClient(t), begun: time.Now().UTC()}
	service, upstream := newService(t, simulator.Config{
		Pending: 200 * time.Millisecond, Running: time.Second, FrameDelay: 2 * time.Millisecond, TaskRate: -1, MaxTasks: 1_000_000, KeepRequests: -1,
	})
	s.service = service
	file := write(t, demoPrices(t, "  - id: search\n    keys:\n      - id: 7f3k9q2m4x1c\n        sha256: "+testsDigest+"\n"))
	s.environ = []string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + file, "SLUICE_REDIS_URL=" + s.server.url(),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_LISTEN=off", "SLUICE_SHUTDOWN_DELAY=0", "SLUICE_REPLICAS=3",
		"SLUICE_REDIS_TIMEOUT=10s", "SLUICE_POLL_INTERVAL=200ms", "SLUICE_TASK_QUERY_RATE=1000", "SLUICE_HEADER_TIMEOUT=30s", "SLUICE_IDLE_TIMEOUT=10s", "SLUICE_LOG_LEVEL=info",
	}
	for i := range s.gates {
		s.gates[i].Store(startGatewayProcess(t, s.environ))
	}
	return s
}

// anyGate is a replica that runs.
func (s *moneySoak) anyGate() *gatewayProcess {
	for {
		if gate := s.gates[rand.IntN(len(s.gates))].Load(); gate != nil {
			return gate
		}
	}
}

// load sends requests of all kinds to all replicas until done is closed, and more if some kind was not sent yet.
func (s *moneySoak) load(done <-chan struct{}) {
	s.Helper()
	all := soakRequests()
	var next atomic.Int64
	var working sync.WaitGroup
	for range 12 {
		working.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				select {
				case <-done:
					if n >= len(all) {
						return
					}
				default:
				}
				s.ask(s.anyGate(), all[n%len(all)])
			}
		})
	}
	working.Wait()
}

// ask sends a request. A client that leaves does so inside of the answer.
func (s *moneySoak) ask(gate *gatewayProcess, q soakRequest) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+gate.public+q.path, strings.NewReader(q.body))
	if err != nil {
		s.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer test")
	request.Header.Set("Content-Type", "application/json")
	if q.header != "" {
		request.Header.Set(q.header, "enable")
	}
	s.sent.Add(1)
	answer, err := s.client.Do(request)
	if err != nil {
		s.lost.Add(1)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if q.leaves {
		_, _ = answer.Body.Read(make([]byte, 16))
		return
	}
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		s.lost.Add(1)
	case answer.StatusCode != http.StatusOK:
		s.Errorf("%s %s: %s %s", q.path, q.body, answer.Status, text)
	}
	var created struct {
		Output struct {
			ID string `json:"task_id"`
		} `json:"output"`
	}
	if _ = json.Unmarshal(text, &created); created.Output.ID != "" && rand.IntN(4) > 0 { // the others are never polled
		s.tasks.Store(created.Output.ID, nil)
	}
}

// poll polls the tasks to their ends.
func (s *moneySoak) poll() {
	s.Helper()
	s.tasks.Range(func(id, _ any) bool {
		wait(s.T, fmt.Sprint("the end of task ", id), func() bool {
			_, text, err := ask(s.client, "http://"+s.anyGate().public, "/api/v1/tasks/"+id.(string), "")
			return err == nil && strings.Contains(text, `"task_status":"SUCCEEDED"`)
		})
		s.tasks.Delete(id)
		return true
	})
}

// open counts the holds of requests that are no tasks, and those of tasks.
func (s *moneySoak) open() (requests, tasks int64) {
	s.Helper()
	const prefix = "sl1:{search}:"
	read := s.server.do("EVAL", readBooks, 6, prefix+"open", prefix+"hold:", prefix+"aside", prefix+"quota", prefix+"none", prefix+"none").([]any)[0].([]any)
	return read[0].(int64) - read[2].(int64), read[2].(int64)
}

// billsItems checks that the bill has everything that the service charges for.
func (s *moneySoak) billsItems(bill string) {
	s.Helper()
	for _, item := range []string{
		"input tokens", "input tokens (input above 2000)", "cache hit input tokens", "cache hit input tokens (input above 2000)", "explicit cache hit input tokens",
		"cache creation input tokens", "image input tokens", "video input tokens", "audio input tokens", "output tokens", "thinking output tokens",
		"images up to 1048576 pixels", "images up to 4194304 pixels", "images",
	} {
		if !strings.Contains(bill, ","+item+",") {
			s.Errorf("the bill lacks %s", item)
		}
	}
}

// reconciled is as much of sluice reconcile --json as the soak reads.
type reconciled struct {
	Sums map[string]struct {
		Bill, Ledger, Estimated json.Number
	}
	Differences []struct {
		Day, Model, Kind string
		Bill, Ledger     struct {
			Quantity int64
			Amount   float64
		}
		Estimated struct {
			Quantity, Requests int64
			Amount             float64
		}
	}
}

// reconcile lays the service's bill beside the ledger as an operator does.
func (s *moneySoak) reconcile() (r reconciled, code int) {
	s.Helper()
	var bill bytes.Buffer
	must(s.T, s.service.Bill(&bill))
	s.billsItems(bill.String())
	file := filepath.Join(s.TempDir(), "bill.csv")
	must(s.T, os.WriteFile(file, bill.Bytes(), 0o600))
	got := command(s.Context(), s.environ, "reconcile", file, "--map", "../../docs/demo/map.yaml", "--tolerance", "0%", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		s.Fatalf("%v: %+v", err, got)
	}
	if time.Now().UTC().Day() != s.begun.Day() {
		s.Skip("the service and the gateway may have counted requests at midnight on different days")
	}
	s.Logf("%d requests, %d without an answer; %+v", s.sent.Load(), s.lost.Load(), r.Sums)
	return r, got.code
}

// onlyEstimates checks that the bill differs from the ledger in nothing but what the ledger flags as estimated: an estimate is at least
// what the service did, because it is what was held, or it is of work that the service never saw.
func (s *moneySoak) onlyEstimates(r *reconciled) {
	s.Helper()
	for _, d := range r.Differences {
		s.Logf("%+v", d)
		tokens, money := d.Ledger.Quantity-d.Bill.Quantity, d.Ledger.Amount-d.Bill.Amount
		if d.Estimated.Requests == 0 || tokens < 0 || tokens > d.Estimated.Quantity || money < -1e-9 || money > d.Estimated.Amount+1e-9 {
			s.Errorf("%s %s %s differs, and not by an estimate: %+v", d.Day, d.Model, d.Kind, d)
		}
	}
}

// TestTheServicesBillIsTheLedgers: after requests of every kind on both fronts, clients that leave, and a replica that is killed while its
// tasks run, the service's bill and the ledger are equal, by day, model and kind.
func TestTheServicesBillIsTheLedgers(t *testing.T) {
	t.Parallel()
	s := newMoneySoak(t)
	enough := make(chan struct{})
	close(enough)
	s.load(enough) // each kind once
	wait(t, "only tasks are open", func() bool { requests, _ := s.open(); return requests == 0 })
	s.gates[0].Swap(nil).kill()
	s.load(enough)
	s.gates[0].Store(startGatewayProcess(t, s.environ))
	s.load(enough)
	s.poll()
	wait(t, "all is settled", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
	r, code := s.reconcile()
	if code != exitClean || len(r.Differences) > 0 || s.lost.Load() > 0 {
		t.Errorf("exit code %d, %d requests were lost\n%+v", code, s.lost.Load(), r.Differences)
	}

	s.service.SetFault(simulator.Fault{On: simulator.EndpointText, NoUsage: true})
	s.ask(s.gates[1].Load(), soakRequest{path: textURL, body: chatOf("llm-turbo", "", "user: What is a sluice?")})
	wait(t, "it is settled", func() bool { requests, _ := s.open(); return requests == 0 })
	r, code = s.reconcile()
	if code != exitFailure || len(r.Differences) == 0 {
		t.Errorf("an answer without usage: exit code %d, %+v", code, r.Differences)
	}
	for _, d := range r.Differences {
		if d.Model != "llm-turbo" || d.Estimated.Requests != 1 {
			t.Errorf("an answer without usage: %+v", d)
		}
	}
}

// TestTheServicesBillIsTheLedgersForLong: for ten minutes, with replicas that are killed under load. What they did not report is
// charged as it was held, and flagged as estimated.
func TestTheServicesBillIsTheLedgersForLong(t *testing.T) {
	if !isLong() {
		t.Skip("LONG=1 takes ten minutes")
	}
	s := newMoneySoak(t)
	done := make(chan struct{})
	ending := time.AfterFunc(10*time.Minute, func() { close(done) })
	defer ending.Stop()
	var loading sync.WaitGroup
	loading.Go(func() { s.load(done) })
	for i := range 6 {
		before := s.sent.Load()
		wait(t, "more requests", func() bool { return s.sent.Load() > before+500 })
		place := &s.gates[i%len(s.gates)]
		place.Swap(nil).kill()
		place.Store(startGatewayProcess(t, s.environ))
	}
	loading.Wait()
	s.poll()
	wait(t, "all is settled, or its lease has ended", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
	r, _ := s.reconcile()
	s.onlyEstimates(&r)
}
