package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// Paths of the service.
const (
	textPath       = "/api/v1/services/aigc/text-generation/generation"
	multimodalPath = "/api/v1/services/aigc/multimodal-generation/generation"
	imagePath      = "/api/v1/services/aigc/image-generation/generation"
	olderPath      = "/api/v1/services/aigc/text2image/image-synthesis"
	olderEditPath  = "/api/v1/services/aigc/image2image/image-synthesis"
	tasksPath      = "/api/v1/tasks"
)

// start is the time at which every test's clock begins.
var start = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// clock stands still until it is advanced.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time that the clock shows.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a service behind a real socket with its clock and a client.
type rig struct {
	*Simulator
	t      *testing.T
	clock  *clock
	server *httptest.Server
	client *http.Client
}

// newRig starts a service on a fake clock with the key "k".
func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	clock := &clock{now: start}
	if cfg.Now == nil {
		cfg.Now = clock.Now
	}
	if cfg.Keys == nil {
		cfg.Keys = []string{"k"}
	}
	s := New(cfg)
	transport := &http.Transport{DisableCompression: true}
	r := &rig{Simulator: s, t: t, clock: clock, server: httptest.NewServer(s), client: &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.Release()
		r.server.Close()
	})
	return r
}

// with puts a fault in force, and nothing else.
func (r *rig) with(f Fault) *rig {
	r.SetFault(f)
	return r
}

// request makes a request with the key and pairs of header names and values.
func (r *rig) request(method, path, body string, header ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// got is a whole answer.
type got struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// do sends a request and reads the whole answer.
func (r *rig) do(method, path, body string, header ...string) got {
	r.t.Helper()
	resp, err := r.client.Do(r.request(method, path, body, header...))
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(b), err}
}

func (r *rig) post(path, body string, header ...string) got {
	r.t.Helper()
	return r.do("POST", path, body, header...)
}

func (r *rig) get(path string, header ...string) got {
	r.t.Helper()
	return r.do("GET", path, "", header...)
}

// object parses the body.
func (g got) object(t *testing.T) object {
	t.Helper()
	if g.err != nil {
		t.Fatal(g.err)
	}
	var o object
	if err := json.Unmarshal([]byte(g.body), &o); err != nil {
		t.Fatalf("answer %d is no JSON object: %v\n%s", g.status, err, g.body)
	}
	return o
}

// want fails unless the answer is a refusal with this status and code.
func (g got) want(t *testing.T, status int, code string) {
	t.Helper()
	if g.err != nil {
		t.Fatal(g.err)
	}
	if prefix := fmt.Sprintf(`{"code":%q,"message":`, code); g.status != status || !strings.HasPrefix(g.body, prefix) {
		t.Errorf("got %d %s, want %d %s…", g.status, g.body, status, prefix)
	}
}

// at walks into parsed JSON by member names and indexes; nil: absent.
func at(v any, path ...any) any {
	for _, p := range path {
		switch step := p.(type) {
		case string:
			v = get[any](v, step)
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// sse switches a stream on.
var sse = []string{"X-Service-SSE", "enable"}

// async makes the request create a task.
var async = []string{"X-Service-Async", "enable"}

// say is a chat request with one user message. Parameters are the members of that object.
func say(words, parameters string) string {
	content, _ := json.Marshal(words)
	return fmt.Sprintf(`{"model":"llm-plus","input":{"messages":[{"role":"user","content":%s}]},"parameters":{%s}}`, content, parameters)
}

// edit is an image editing request with one input image.
func edit(parameters string) string {
	return fmt.Sprintf(`{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[
		{"text":"A quiet lake"},{"image":"https://images.example/in.png"}]}]},"parameters":{%s}}`, parameters)
}

// draw is a synchronous image request.
func draw(parameters string) string {
	return fmt.Sprintf(`{"model":"llm-image-plus","input":{"messages":[{"role":"user","content":[
		{"text":"A quiet lake"}]}]},"parameters":{%s}}`, parameters)
}

// older is a request to the older image paths.
func older(parameters string) string {
	return fmt.Sprintf(`{"model":"gen2.2-t2i","input":{"prompt":"A quiet lake"},"parameters":{%s}}`, parameters)
}

// createTask creates a task and returns its id.
func (r *rig) createTask(path, body string) string {
	r.t.Helper()
	o := r.post(path, body, async...).object(r.t)
	id, _ := at(o, "output", "task_id").(string)
	if id == "" || at(o, "output", "task_status") != "PENDING" {
		r.t.Fatalf("task not created: %v", o)
	}
	return id
}

// poll queries a task.
func (r *rig) poll(id string) object {
	r.t.Helper()
	g := r.get(tasksPath + "/" + id)
	if g.status != 200 {
		r.t.Fatalf("poll: %d %s", g.status, g.body)
	}
	return g.object(r.t)
}

// within is a context that ends a test that hangs.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// serveOnce serves one request in process.
func serveOnce(s *Simulator, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w
}

// await polls until ok; the service's work ends without an event.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	ctx := within(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the condition did not hold in time")
		}
	}
}
