package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/gateway"
	"sluice/gateway/accounts"
	"sluice/gateway/feed"
	"sluice/gateway/simulator"
	"sluice/gateway/stores"
	"sluice/gateway/tasks"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

const upstreamKey = "sk-canary-upstream-0123456789abcdef"

// Paths of the public surface.
const (
	textPath       = "/api/v1/services/aigc/text-generation/generation"
	multimodalPath = "/api/v1/services/aigc/multimodal-generation/generation"
	imagePath      = "/api/v1/services/aigc/image-generation/generation"
	olderPath      = "/api/v1/services/aigc/text2image/image-synthesis"
	tasksPath      = "/api/v1/tasks"
)

// Bodies that break no rule.
const (
	textBody = `{"model":"llm-max","input":{"messages":[{"role":"user","content":"Say something about rivers."}]},` +
		`"parameters":{"result_format":"message"}}`
	imageBody = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"},` +
		`{"image":"https://example.com/a.png"}]}]},"parameters":{"n":1}}`
	olderBody = `{"model":"gen2.5-t2i","input":{"prompt":"A lighthouse"},"parameters":{"n":1}}`
	syncBody  = `{"model":"llm-image-2.0","input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]},` +
		`"parameters":{"size":"640*480"}}`
)

// harness is a gateway in front of a service, over real sockets, with two teams.
type harness struct {
	testing.TB
	gateway  *gateway.Gateway
	sim      *simulator.Simulator // nil if the test brings its own upstream
	server   *httptest.Server     // the gateway's
	address  string               // host:port of the gateway
	keys     map[string]string    // team → key
	records  *records
	log      *syncBuffer // what the gateway logs outside requests
	client   *http.Client
	teamsDoc string

	upstreamHost string // host:port
	seen         int    // requests of the simulator that a test has counted
	balances     *limit.Memory
	tells        *telemetry.Telemetry
	spans        *spanSink
}

// plan has the parts that a test may change before the harness is built.
type plan struct {
	config    gateway.Config
	sim       simulator.Config
	upstream  http.Handler // nil: the simulator
	address   string       // of an upstream that the test runs itself: its URL
	now       func() time.Time
	claims    tasks.Claims // nil: in memory
	service   accounts.Set // its accounts; zero: one, whose key is upstreamKey
	cooling   accounts.Shared
	telemetry telemetry.Config
	queryRate int                   // 0: a million a second
	balances  stores.Balances       // nil: in memory
	outcomes  stores.Outcomes       // nil: in memory
	remote    *gateway.Remote       // nil: the stores are in memory
	tokens    gateway.Identities    // nil: tokens are refused
	accepted  func(context.Context) // as gateway.Deps.KeyAccepted
	to        event.Routes
	result    tasks.Result // nil: no pictures are stored
	feed      *feed.Feed   // nil: no events are streamed
	teams     string       // more lines for the teams file
	limits    []string     // more lines for team search
	wrap      func(http.Handler) http.Handler
	// headerTime replaces the server's time for a request's header; zero leaves it.
	headerTime time.Duration
	// readTime replaces the server's time for a whole request, until a stage sets its own; zero leaves it.
	readTime time.Duration
}

// build starts everything and stops it at the test's end, when no goroutine may be left; of parallel tests, at the end of them all.
func build(t testing.TB, changes ...func(*plan)) *harness {
	t.Helper()
	if test, ok := t.(*testing.T); ok && !isParallel(test) {
		ignore := goleak.IgnoreCurrent()
		t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	}
	p := &plan{config: settings(), sim: simulator.Config{Keys: []string{upstreamKey}, TaskRate: -1}, now: time.Now}
	for _, change := range changes {
		change(p)
	}
	if p.service.Keys == nil {
		p.service = accounts.Main(upstreamKey)
	}
	h := &harness{TB: t, keys: make(map[string]string), records: new(records), log: new(syncBuffer)}
	base := h.startUpstream(p)
	p.config.UpstreamURL, h.upstreamHost = base, base.Host
	if p.queryRate == 0 {
		p.queryRate = 1_000_000
	}
	if p.claims == nil {
		p.claims = cache.NewClaims(p.config.TaskTTL, p.now)
	}
	if p.outcomes == nil {
		p.outcomes = cache.NewOutcomes(p.config.TaskTTL, p.now)
	}
	if p.balances == nil {
		h.balances = limit.NewMemory(p.now)
		h.balances.Events = event.NewMemory(event.DefaultBounds, p.now)
		p.balances = h.balances
	}
	h.tells, h.spans = traced(t, p.telemetry)
	h.gateway = gateway.New(p.config, gateway.Deps{
		Now: p.now, Teams: h.teams(p), Upstream: p.service, Cooling: p.cooling, Claims: p.claims, Queries: cache.NewQueries(p.queryRate, p.now),
		Cancels: cache.NewQueries(p.queryRate, p.now), Outcomes: p.outcomes, Balances: p.balances, Identities: p.tokens, Remote: p.remote,
		Metrics: h.tells.Metrics, Traces: h.tells.Traces, Record: h.records.add, KeyAccepted: p.accepted,
		Outbox: event.NewMemory(event.DefaultBounds, time.Now), Feed: p.feed, To: p.to, Result: p.result,
		Logger: slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.startGateway(p)
	return h
}

func settings() gateway.Config {
	return gateway.Config{
		HeaderPrefix: "X-Service-", Workspace: gateway.HeaderStrip, DataInspection: gateway.HeaderStrip,
		MaxBody: 64 << 20, BodyBudget: 512 << 20,
		ConnectTimeout: 5 * time.Second, HeaderTimeout: 300 * time.Second, IdleTimeout: 300 * time.Second, WriteTimeout: 30 * time.Second,
		Fleet: limit.NewFleet(1, time.Now), TaskTTL: 24 * time.Hour, TaskZone: time.FixedZone("", 8*60*60),
		Families: policy.Families{SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image*"}},
	}
}

func (h *harness) startUpstream(p *plan) *url.URL {
	address := p.address
	if address == "" {
		handler := p.upstream
		if handler == nil {
			h.sim = simulator.New(p.sim)
			handler = h.sim
			h.Cleanup(func() {
				for _, v := range h.sim.Violations() {
					h.Errorf("the service saw: %s", v)
				}
			})
		}
		server := httptest.NewServer(handler)
		h.Cleanup(server.Close)
		address = server.URL
	}
	base, err := url.Parse(address + "/api/v1")
	if err != nil {
		h.Fatal(err)
	}
	return base
}

func (h *harness) startGateway(p *plan) {
	var handler http.Handler = h.gateway
	if p.wrap != nil {
		handler = p.wrap(handler)
	}
	h.server = unstarted(h, handler, slog.New(slog.NewTextHandler(h.log, nil)))
	if p.headerTime > 0 {
		h.server.Config.ReadHeaderTimeout = p.headerTime
	}
	if p.readTime > 0 {
		h.server.Config.ReadTimeout = p.readTime
	}
	h.server.Start()
	h.address = h.server.Listener.Addr().String()
	transport := &http.Transport{DisableCompression: true}
	h.client = &http.Client{Transport: transport, Timeout: time.Minute}
	h.Cleanup(func() {
		transport.CloseIdleConnections()
		h.server.Close()
		h.gateway.Close()
	})
}

// unstarted is a server for one of the gateway's listeners, which does not serve yet.
func unstarted(t testing.TB, handler http.Handler, log *slog.Logger) *httptest.Server {
	t.Helper()
	listener, err := wire.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &httptest.Server{Listener: listener, Config: wire.NewServer(handler, log)}
}

// teams makes a teams file with two teams, reader and writer, and mints their keys.
func (h *harness) teams(p *plan) *teams.File {
	h.Helper()
	doc := "currency: CNY\nteams:\n"
	for _, team := range []string{"search", "shop"} {
		key, err := teams.MintKey(rand.Reader)
		if err != nil {
			h.Fatal(err)
		}
		h.keys[team] = key.Reveal()
		doc += fmt.Sprintf("  - id: %s\n    keys:\n%s", team, key.Lines())
		if team == "search" {
			for _, line := range p.limits {
				doc += "    " + line + "\n"
			}
		}
	}
	h.teamsDoc = doc + p.teams
	file, err := teams.Parse([]byte(h.teamsDoc))
	if err != nil {
		h.Fatal(err)
	}
	return file
}

// request makes a request of team search. Headers come in pairs and replace existing ones.
func (h *harness) request(method, path, body string, headers ...string) *http.Request {
	h.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.keys["search"])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// reading is an answer, read to its end.
type reading struct {
	status int
	header http.Header
	body   string
	err    error // the error if the answer was cut
}

// ask sends a request of team search and reads the answer.
func (h *harness) ask(method, path, body string, headers ...string) reading {
	h.Helper()
	return h.send(h.request(method, path, body, headers...))
}

func (h *harness) send(r *http.Request) reading {
	h.Helper()
	resp, err := h.client.Do(r)
	if err != nil {
		h.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reading{resp.StatusCode, resp.Header, string(body), err}
}

// raw sends bytes on a new connection and returns everything that is received until the gateway closes or is silent for the
// bound.
func (h *harness) raw(bytes string, bound time.Duration) string {
	h.Helper()
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, bytes); err != nil {
		h.Logf("the gateway closed while it was written to: %v", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(bound))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func (h *harness) dial() *net.TCPConn {
	h.Helper()
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// rawAnswer sends bytes unchanged and reads one answer.
func (h *harness) rawAnswer(text string) reading {
	h.Helper()
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, text)
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return reading{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reading{resp.StatusCode, resp.Header, string(body), err}
}

// wants checks a refusal: its status, its row, its code, and that the ids agree.
func (r reading) wants(t testing.TB, status int, row, code string) {
	t.Helper()
	var body struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}
	err := json.Unmarshal([]byte(r.body), &body)
	if r.status != status || r.header.Get("Sluice-Refusal") != row || err != nil || body.Code != code {
		t.Errorf("got %d %q %s, want %d %q with code %s", r.status, r.header.Get("Sluice-Refusal"), r.body, status, row, code)
		return
	}
	if !strings.HasPrefix(r.body, `{"code":"`) || body.Message == "" || body.RequestID != r.header.Get("Sluice-Request-Id") {
		t.Errorf("the refusal %s (id %s) is not in the service's form", r.body, r.header.Get("Sluice-Request-Id"))
	}
}

// member returns a string below a path of members in a JSON body.
func (r reading) member(t testing.TB, path ...string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(r.body), &value); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	s, _ := value.(string)
	return s
}

// records keeps the Records of the gateway.
type records struct {
	mu   sync.Mutex
	all  []telemetry.Record
	more chan struct{} // closed and replaced at each record
}

func (r *records) add(record *telemetry.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *record)
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// await returns the records once there are n of them.
func (r *records) await(t testing.TB, n int) []telemetry.Record {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		if len(r.all) >= n {
			defer r.mu.Unlock()
			return append([]telemetry.Record(nil), r.all...)
		}
		if r.more == nil {
			r.more = make(chan struct{})
		}
		more := r.more
		r.mu.Unlock()
		select {
		case <-more:
		case <-limit:
			t.Fatalf("waited 20 s for %d records; there are %d", n, len(r.all))
		}
	}
}

// take is await for exactly n records, of which it then keeps none.
func (r *records) take(t testing.TB, n int) []telemetry.Record {
	t.Helper()
	all := r.await(t, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all = nil; len(all) > n {
		t.Errorf("%d records of %d requests", len(all), n)
	}
	return all
}

// syncBuffer is a bytes.Buffer for several writers.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func sha(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

func hexSHA(s string) string { return fmt.Sprintf("%x", sha(s)) }

func itoa(n int) string { return strconv.Itoa(n) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
