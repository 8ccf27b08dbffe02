package simulator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// rig is a service behind a real socket with a client, and a clock that stands still until it is advanced.
type rig struct {
	*Simulator
	*testing.T
	server *httptest.Server
	client *http.Client
	passed atomic.Int64 // nanoseconds since start
}

// newRig starts a service with the key "k".
func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	r := &rig{T: t, client: &http.Client{
		Transport: transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	cfg.Now = func() time.Time { return start.Add(time.Duration(r.passed.Load())) }
	if cfg.Keys == nil {
		cfg.Keys = []string{"k"}
	}
	r.Simulator = New(cfg)
	r.server = httptest.NewServer(r.Simulator)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.Release()
		r.server.Close()
	})
	return r
}

func (r *rig) advance(d time.Duration) { r.passed.Add(int64(d)) }

// with puts a fault in force, and nothing else.
func (r *rig) with(f Fault) *rig {
	r.SetFault(f)
	return r
}

// request makes a request with the key and pairs of header names and values. A name with an empty value is removed.
func (r *rig) request(method, path, body string, header ...string) *http.Request {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	fill(req.Header, body, append([]string{"Authorization", "Bearer k"}, header...))
	return req
}

func fill(h http.Header, body string, header []string) {
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if h.Set(header[i], header[i+1]); header[i+1] == "" {
			h.Del(header[i])
		}
	}
}

// begin sends a request whose answer the test reads.
func (r *rig) begin(req *http.Request) *http.Response {
	r.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = resp.Body.Close() })
	return resp
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
	r.Helper()
	resp, err := r.client.Do(r.request(method, path, body, header...))
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(b), err}
}

func (r *rig) post(path, body string, header ...string) got {
	r.Helper()
	return r.do("POST", path, body, header...)
}

func (r *rig) get(path string, header ...string) got {
	r.Helper()
	return r.do("GET", path, "", header...)
}

// object parses the body.
func (g got) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(g.body), &o); err != nil || g.err != nil {
		t.Fatalf("answer %d is no JSON object: %v, %v\n%s", g.status, err, g.err, g.body)
	}
	return o
}

// want fails unless the answer is a refusal with this status and code.
func (g got) want(t testing.TB, status int, code string) {
	t.Helper()
	if prefix := fmt.Sprintf(`{"code":%q,"message":`, code); g.err != nil || g.status != status || !strings.HasPrefix(g.body, prefix) {
		t.Errorf("got %d %s (%v), want %d %s…", g.status, g.body, g.err, status, prefix)
	}
}

// at walks into parsed JSON by member names and indexes, "output.choices.0.message"; nil: absent.
func at(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(list) {
				return nil
			}
			v = list[i]
			continue
		}
		v = get[any](v, step)
	}
	return v
}

// text is the string at a path, empty if there is none.
func text(v any, path string) string {
	s, _ := at(v, path).(string)
	return s
}

// event is one parsed frame.
type event struct{ id, name, status, data string }

func (e event) object(t testing.TB) object {
	t.Helper()
	return got{body: e.data}.object(t)
}

// readEvent reads one frame strictly: every line has its place and its prefix, and an empty line ends it.
func readEvent(r *bufio.Reader) (event, error) {
	var values []string
	for _, prefix := range []string{"id:", "event:", ":HTTP_STATUS/", "data:", ""} {
		line, err := r.ReadString('\n')
		if err == io.EOF && line == "" && prefix == "id:" {
			return event{}, io.EOF
		}
		value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if err != nil || !ok || prefix == "" && value != "" || strings.HasPrefix(value, " ") {
			return event{}, fmt.Errorf("malformed frame: %q where %q belongs, %w", line, prefix, err)
		}
		values = append(values, value)
	}
	return event{values[0], values[1], values[2], values[3]}, nil
}

// events parses a whole stream.
func (g got) events(t testing.TB) (out []event) {
	t.Helper()
	if ct := g.header.Get("Content-Type"); g.err != nil || g.status != 200 || ct != "text/event-stream;charset=UTF-8" {
		t.Fatalf("answer is no stream: %d %s, %v\n%s", g.status, ct, g.err, g.body)
	}
	for r := bufio.NewReader(strings.NewReader(g.body)); ; {
		e, err := readEvent(r)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// Headers of requests: sse switches a stream on, async creates a task.
var (
	sse      = []string{"X-Service-SSE", "enable"}
	async    = []string{"X-Service-Async", "enable"}
	asyncSSE = append([]string{"X-Service-Sse", "enable"}, async...)
)

// say is a chat request with one user message. Parameters are the members of that object.
func say(words, parameters string) string {
	content, _ := json.Marshal(words)
	return fmt.Sprintf(`{"model":"llm-plus","input":{"messages":[{"role":"user","content":%s}]},"parameters":{%s}}`, content, parameters)
}

// edit is an image editing request with one input image, draw a synchronous one, older one to the older image paths, and tale one for an
// interleaved answer.
func edit(parameters string) string {
	return fmt.Sprintf(`{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[
		{"text":"A quiet lake"},{"image":"https://images.example/in.png"}]}]},"parameters":{%s}}`, parameters)
}

func draw(parameters string) string {
	return fmt.Sprintf(`{"model":"llm-image-plus","input":{"messages":[{"role":"user","content":[
		{"text":"A quiet lake"}]}]},"parameters":{%s}}`, parameters)
}

func older(parameters string) string {
	return fmt.Sprintf(`{"model":"gen2.2-t2i","input":{"prompt":"A quiet lake"},"parameters":{%s}}`, parameters)
}

func tale(parameters string) string {
	return `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A quiet lake"}]}]},
		"parameters":{` + parameters + `}}`
}

// levels are two tools.
const levels = `"result_format":"message","tools":[
	{"type":"function","function":{"name":"get_level","parameters":{"type":"object","properties":{"river":{"type":"string"},"days":{"type":"integer","minimum":3}}}}},
	{"type":"function","function":{"name":"open_gate"}}]`

// createTask creates a task and returns its id.
func (r *rig) createTask(path, body string) string {
	r.Helper()
	o := r.post(path, body, async...).object(r)
	if id := text(o, "output.task_id"); id != "" && at(o, "output.task_status") == "PENDING" {
		return id
	}
	r.Fatalf("task not created: %v", o)
	return ""
}

// poll queries a task.
func (r *rig) poll(id string) object {
	r.Helper()
	return r.get(tasksPath + "/" + id).object(r)
}

func (r *rig) status(id string) string {
	r.Helper()
	return text(r.poll(id), "output.task_status")
}

// within is a context that ends a test that hangs.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// serveOnce serves one request in process.
func serveOnce(s *Simulator, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	fill(req.Header, "{}", append([]string{"Authorization", "Bearer k"}, header...))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w
}

// await polls until ok; the service's work ends without an event.
func await(t testing.TB, ok func() bool) {
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

// dataURI returns the bytes as a data URI.
func dataURI(media string, raw []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(raw)
}

// pngOf encodes a picture; opaque decides its colour type.
func pngOf(w, h int, opaque bool) []byte {
	var img image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if !opaque {
		m := image.NewNRGBA(image.Rect(0, 0, w, h))
		m.Set(0, 0, color.NRGBA{1, 2, 3, 4})
		img = m
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func bmpOf(w, h int32) []byte {
	raw := make([]byte, 54)
	copy(raw, "BM")
	binary.LittleEndian.PutUint32(raw[18:], uint32(w))
	binary.LittleEndian.PutUint32(raw[22:], uint32(h))
	return raw
}
