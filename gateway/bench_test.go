package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/cache"
	"sluice/gateway"
	"sluice/gateway/accounts"
	"sluice/gateway/stores"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// The benchmarks compare the gateway with a bare ReverseProxy on a tuned Transport. Both, and upstream, are separate
// processes with a core each; rounds alternate, so that a machine whose speed drifts gives a fair ratio.

const (
	benchRole      = "BENCH_ROLE"
	benchUpstream  = "BENCH_UPSTREAM"
	benchLimits    = "BENCH_LIMITS"  // not empty: the team has rates and quotas
	benchProfile   = "BENCH_PROFILE" // CPU profiles are written to this path plus a role; those of allocations also end in .allocs
	benchCollector = "BENCH_GOGC"    // the gateway's collector, 400 as a process with a memory limit sets it; empty: 200, as its references
	benchCore      = "BENCH_CORE"    // the measured process runs only on this core; run the benchmark itself on others, by taskset
	benchKey       = "slk_bench0000000_0000000000000000000000000000000000000000000"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(benchRole); role != "" {
		os.Exit(playRole(role))
	}
	os.Exit(runAll(m))
}

// playRole runs a child: it serves until its standard input is closed.
func playRole(role string) int {
	var handler http.Handler
	switch role {
	case "upstream":
		handler = http.HandlerFunc(benchAnswer)
	case "bare":
		handler = bareProxy()
	case "bare-own":
		handler = ownProxy()
	case "server":
		handler = http.HandlerFunc(serverAlone)
	case "gateway", "sampled", "front":
		handler = benchGateway(limit.NewMemory(time.Now))
	case "collector":
		handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body := benchBodies.Get().(*bytes.Buffer)
			defer benchBodies.Put(body)
			body.Reset()
			if _, err := body.ReadFrom(r.Body); err == nil && r.URL.Path == "/v1/traces" {
				benchSpans.Add(countFields(body.Bytes(), 1, 2, 2)) // the resources' scopes' spans
			}
		})
	case "hanging":
		handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
	case "redis":
		handler = benchGateway(benchShared())
	case "asking":
		handler = askingProxy()
	case "naive":
		handler = naiveGateway()
	case "handler":
		handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header() // the gateway's facts are in its answer, and so in this one
			h["Content-Type"], h["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(benchTask))}
			h["Age"], h["Cache-Status"] = []string{"12"}, []string{"sluice;hit;ttl=86388"}
			h["Cache-Control"], h["Server-Timing"] = []string{"private, no-store"}, []string{"sluice;dur=0.0"}
			h["X-Content-Type-Options"] = []string{"nosniff"}
			h["Sluice-Request-Id"] = []string{"7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0"}
			_, _ = w.Write(benchTask)
		})
	case "pacing":
		handler = http.HandlerFunc(pacedFrames)
	}
	listen := net.Listen // as servers without the gateway's connections do
	if slices.Contains([]string{"gateway", "sampled", "front", "redis"}, role) {
		listen = func(_, address string) (net.Listener, error) { return wire.Listen(context.Background(), address) }
	}
	listener, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/stats", benchStats)
	statsListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	server := wire.NewServer(handler, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(listener) }()
	go func() { _ = (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(statsListener) }()
	if path := os.Getenv(benchProfile); path != "" && role != "upstream" {
		if f, err := os.Create(path + "." + role); err == nil && pprof.StartCPUProfile(f) == nil {
			defer pprof.StopCPUProfile()
		}
		if f, err := os.Create(path + "." + role + ".allocs"); err == nil {
			defer func() { _ = pprof.Lookup("allocs").WriteTo(f, 0) }()
		}
	}
	fmt.Println(listener.Addr(), statsListener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// benchStats reports the process's CPU time in µs, its allocations, its live heap in bytes, the spans that it received, the requests that
// wait for their turn, and its stacks in bytes.
func benchStats(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("gc") {
		runtime.GC()
	}
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	cpu := (use.Utime.Nano() + use.Stime.Nano()) / 1e3 // µs
	waiting := 0
	if g := benchGate.Load(); g != nil {
		g.Queue(func(_ string, n, _ int) { waiting += n })
	}
	_, _ = fmt.Fprintln(w, cpu, mem.Mallocs, mem.HeapAlloc, benchSpans.Load(), waiting, mem.StackInuse)
}

// benchSpans counts the spans that the collector received, and benchBodies their bodies. The collector shares the machine
// with the measured processes, so it does little.
var (
	benchSpans  atomic.Int64
	benchBodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// benchGate is the child's gateway; nil: it is none.
var benchGate atomic.Pointer[gateway.Gateway]

// countFields counts the messages at the end of a path of field numbers.
func countFields(message []byte, path ...protowire.Number) (n int64) {
	if len(path) == 0 {
		return 1
	}
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		message = message[max(size, 0):]
		value := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 || value < 0 {
			return n
		}
		if field == path[0] {
			inner, _ := protowire.ConsumeBytes(message)
			n += countFields(inner, path[1:]...)
		}
		message = message[value:]
	}
	return n
}

// benchTask is a task's final answer, as a service sends it.
var benchTask = []byte(`{"output":{"task_id":"ended","task_status":"SUCCEEDED","submit_time":"2026-11-21 20:00:00.123",` +
	`"scheduled_time":"2026-11-21 20:00:01.123","end_time":"2026-11-21 20:00:09.523","finished":true,` +
	`"choices":[{"message":{"content":[{"type":"image","image":"https://pictures.example.com/` + strings.Repeat("a", 300) +
	`"}],"role":"assistant"},"finish_reason":"stop"}]},"usage":{"image_count":1,"size":"1280*720"},` +
	`"request_id":"7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0"}`)

// benchAnswer answers 1 KB of JSON, or a stream of 50 frames if the request wants one.
func benchAnswer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.Method == http.MethodGet {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = io.WriteString(w, `{"output":{"task_id":"running","task_status":"RUNNING"},"request_id":"7f3c"}`)
		return
	}
	for name, value := range serviceHeaders {
		w.Header()[name] = []string{value}
	}
	if !strings.EqualFold(r.Header.Get("X-Service-Sse"), "enable") {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(benchJSON)
		return
	}
	w.Header()["Content-Type"] = []string{"text/event-stream;charset=UTF-8"}
	flusher := w.(http.Flusher)
	for i := 1; i <= 50; i++ {
		_, _ = fmt.Fprintf(w, benchFrame, i, benchWords[i%len(benchWords)], benchFinish[i/50], i, 20+i)
		flusher.Flush()
	}
}

// benchWords are the texts of a stream's frames. They differ, because OpenAI's interface waits while frames that are equal could
// each repeat the whole text. benchFinish is the finish_reason of the frames before the last, and of the last.
var (
	benchWords  = []string{" river", " water", " wheel", " stone", " gates"}
	benchFinish = []string{"null", "stop"}
)

var benchJSON = []byte(`{"output":{"choices":[{"message":{"content":"` + strings.Repeat("river ", 140) +
	`","role":"assistant"},"finish_reason":"stop"}]},"usage":{"total_tokens":160,"input_tokens":20,"output_tokens":140},"request_id":"7f3c"}`)

// sdkHeaders are sent by a client library, and serviceHeaders by a service behind a load balancer.
const sdkHeaders = "Accept: application/json\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nContent-Type: " +
	"application/json\r\nUser-Agent: service-sdk/1.24.6; python/3.11.7; platform/linux\r\n"

var serviceHeaders = map[string]string{
	"Server": "istio-envoy", "Vary": "Origin", "X-Request-Id": "7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0", "X-Service-Uid": "1234567890",
	"X-Service-Call-Gateway": "true", "Req-Cost-Time": "812", "Req-Arrive-Time": "1770000000000", "Resp-Start-Time": "1770000000812",
}

const benchFrame = "id:%d\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"%s\",\"role\":\"assistant\"},\"finish_reason\":\"%s\"}]},\"usage\":{\"input_tokens\":20,\"output_tokens\":%d,\"total_tokens\":%d},\"request_id\":\"7f3c\"}\n\n"

func benchGateway(balances stores.Balances) http.Handler {
	scopes := benchLimited[os.Getenv(benchScopes)]
	doc := fmt.Sprintf("currency: CNY\nteams:\n  - id: bench\n    keys:\n      - {id: bench0000000, sha256: %x%s}\n", sha(benchKey),
		scopes.key)
	doc += scopes.team
	if os.Getenv(benchLimits) != "" {
		doc += "    rates: {requests: {per: 1s, limit: 1000000000}, tokens: {per: 1s, limit: 1000000000}}\n" +
			"    quotas: {tokens: {day: 1000000000000000}, spend: {month: 1000000}}\n    concurrent: 1000000\n" +
			"prices: [{model: \"*\", input_per_million: 1, output_per_million: 2}]\n"
	}
	doc += benchQueues[os.Getenv(benchQueue)]
	doc += scopes.file
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		panic(err)
	}
	config := settings()
	config.UpstreamURL = benchBase()
	config.OpenAI, config.Provider, config.ImageWait = true, "service", time.Minute
	log := telemetry.NewLog(telemetry.LogConfig{Writer: io.Discard, Now: time.Now})
	claims := cache.NewClaims(config.TaskTTL, time.Now)
	for _, task := range []string{"ended", "running"} {
		claims.Put(context.Background(), cache.Claim{Team: "bench", Task: task, Answer: cache.Answer{Task: task, Status: cache.Running}})
	}
	ended := cache.Claim{Team: "bench", Task: "ended"}
	_, _ = claims.Hear(context.Background(), &ended, cache.Answer{Task: "ended", Status: cache.Succeeded}, benchTask, 0) // it never fails
	tells, err := telemetry.Open(context.Background(), telemetry.Config{Logger: slog.Default(), Upstream: config.UpstreamURL,
		Provider: "service"})
	if err != nil {
		panic(err)
	}
	log.Tee(tells.Logs)
	g := gateway.New(config, gateway.Deps{
		Now: time.Now, Metrics: tells.Metrics, Traces: tells.Traces, Teams: file, Upstream: benchUpstreams(), Claims: claims,
		Queries: cache.NewQueries(1_000_000, time.Now), Cancels: cache.NewQueries(1_000_000, time.Now),
		Outcomes: cache.NewOutcomes(config.TaskTTL, time.Now),
		Balances: balances, Record: func(r *telemetry.Record) { log.Write(r, r.AppendLine(make([]byte, 0, 1<<10))) },
		Logger: slog.New(slog.DiscardHandler),
	})
	benchGate.Store(g)
	go g.Work(context.Background())
	return g
}

// benchUpstreams are the child's accounts at the service.
func benchUpstreams() accounts.Set {
	n, _ := strconv.Atoi(os.Getenv(benchAccounts))
	if n == 0 {
		return accounts.Main("upstream")
	}
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`id: account-%d, rates: [{models: ["*"], requests: {per: 1s, limit: 1000000}}]`, i))
	}
	up, err := readAccounts(lines...)
	if err != nil {
		panic(err)
	}
	return up
}

func benchBase() *url.URL {
	base, err := url.Parse("http://" + os.Getenv(benchUpstream) + "/api/v1")
	if err != nil {
		panic(err)
	}
	return base
}

// child is a process that plays a role.
type child struct {
	testing.TB
	address, stats string
	pid            int
}

func startChild(b testing.TB, role, upstream string, procs int, variables ...string) *child {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	if core := os.Getenv(benchCore); core != "" && role != "upstream" && role != "collector" {
		cmd = exec.Command("taskset", "-c", core, os.Args[0])
	}
	cmd.Env = append(os.Environ(), benchRole+"="+role, benchUpstream+"="+upstream, "GOMAXPROCS="+strconv.Itoa(procs), "GOGC=200")
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	c := &child{TB: b, pid: cmd.Process.Pid}
	if _, err := fmt.Fscan(out, &c.address, &c.stats); err != nil {
		b.Fatal(err)
	}
	return c
}

type stats struct{ cpu, mallocs, heap, spans, waiting, stacks float64 }

func (c *child) read(query string) stats {
	c.Helper()
	resp, err := http.Get("http://" + c.stats + "/stats" + query)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var s stats
	if _, err := fmt.Fscan(resp.Body, &s.cpu, &s.mallocs, &s.heap, &s.spans, &s.waiting, &s.stacks); err != nil {
		c.Fatal(err)
	}
	return s
}

// BenchmarkBesideBare reports, for the gateway and its references in the same run, requests per second on one core each, CPU
// time and allocations per request, and the ratios of the gateway's to those of the bare proxy. For small requests the
// references are also the bare proxy over the gateway's own transport, and a handler that asks no service: its allocations are
// those of net/http's server.
func BenchmarkBesideBare(b *testing.B) {
	upstream := startChild(b, "upstream", "", 2)
	bare := startChild(b, "bare", upstream.address, 1)
	own := startChild(b, "bare-own", upstream.address, 1)
	server := startChild(b, "server", upstream.address, 1)
	gate := startChild(b, "gateway", upstream.address, 1, "GOGC="+cmp.Or(os.Getenv(benchCollector), "200"))
	large := `{"model":"gen2.6-chat","input":{"messages":[{"role":"user","content":[{"text":"What is this?"},` +
		`{"image":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 13<<20/8) + `"}]}]}}`
	for _, tt := range []struct {
		name, path, body string
		headers          string
		clients, chunk   int
	}{
		{"json-1KB", textPath, padded(1024), "", 64, 2000},
		{"sse-50-frames", textPath, padded(1024), "X-Service-SSE: enable\r\n", 16, 200},
		{"body-13MB", multimodalPath, large, "", 4, 8},
	} {
		b.Run(tt.name, func(b *testing.B) {
			request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+
				"%sContent-Length: %d\r\n\r\n%s", tt.path, benchKey, tt.headers, len(tt.body), tt.body)
			names, children := []string{"bare", "gateway"}, []*child{bare, gate}
			if tt.path == textPath && tt.headers == "" {
				names, children = []string{"bare", "bare-own", "server", "gateway"}, []*child{bare, own, server, gate}
			}
			compare(b, names, children, request, tt.clients, tt.chunk)
		})
	}
}

// BenchmarkFront compares a chat by OpenAI's interface with the same chat by the service's, each at a gateway on a core of its own.
func BenchmarkFront(b *testing.B) {
	upstream := startChild(b, "upstream", "", 2)
	native := startChild(b, "gateway", upstream.address, 1)
	front := startChild(b, "front", upstream.address, 1)
	request := func(path, headers, body string) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"%sContent-Length: %d\r\n\r\n%s",
			path, benchKey, headers, len(body), body)
	}
	chat := `{"model":"llm-max","messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"` +
		strings.Repeat("x", 850) + `"}],"temperature":0.7,"max_tokens":512}`
	b.Run("json-1KB", func(b *testing.B) {
		compareEach(b, []string{"native", "front"}, []*child{native, front},
			[][]byte{request(textPath, "", padded(1024)), request(frontChats, "", chat)}, 32, 2000)
	})
	b.Run("sse-50-frames", func(b *testing.B) {
		streamed := strings.Replace(chat, `{"model"`, `{"stream":true,"model"`, 1)
		compareEach(b, []string{"native", "front"}, []*child{native, front},
			[][]byte{request(textPath, "X-Service-SSE: enable\r\n", padded(1024)), request(frontChats, "", streamed)}, 16, 200)
	})
}

// BenchmarkTelemetry compares a gateway that sends its spans and metrics to a collector that works, is absent or hangs with
// one that sends nothing.
func BenchmarkTelemetry(b *testing.B) {
	upstream := startChild(b, "upstream", "", 1)
	collector := startChild(b, "collector", "", 1)
	hanging := startChild(b, "hanging", "", 1)
	off := startChild(b, "gateway", upstream.address, 1)
	body := padded(1024)
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"Content-Length: %d\r\n\r\n%s",
		textPath, benchKey, len(body), body)
	for _, tt := range []struct{ name, ratio, address string }{
		{"sampled-0.1", "0.1", collector.address}, {"sampled-1", "1", collector.address}, {"dead-collector", "1", "127.0.0.1:1"},
		{"hanging-collector", "1", hanging.address},
	} {
		b.Run(tt.name, func(b *testing.B) {
			on := startChild(b, "sampled", upstream.address, 1, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+tt.address,
				"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG="+tt.ratio)
			before := collector.read("").spans
			compare(b, []string{"off", "on"}, []*child{off, on}, request, 32, 2000)
			b.ReportMetric((collector.read("").spans-before)/float64(b.N), "spans/req")
		})
	}
}

// BenchmarkPolls compares a poll of a task that has ended with a bare handler that writes the same bytes, header and body,
// and with a poll that goes upstream.
func BenchmarkPolls(b *testing.B) {
	upstream := startChild(b, "upstream", "", 2)
	handler := startChild(b, "handler", upstream.address, 1)
	gate := startChild(b, "gateway", upstream.address, 1)
	poll := func(task string) []byte {
		return fmt.Appendf(nil, "GET %s/%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"\r\n", tasksPath, task, benchKey)
	}
	b.Run("beside-handler", func(b *testing.B) {
		compare(b, []string{"handler", "cached"}, []*child{handler, gate}, poll("ended"), 32, 4000)
	})
	b.Run("beside-upstream", func(b *testing.B) {
		live := startChild(b, "gateway", upstream.address, 1)
		compareEach(b, []string{"upstream", "cached"}, []*child{live, gate}, [][]byte{poll("running"), poll("ended")}, 1, 1000)
	})
}

func padded(size int) string {
	body := `{"model":"llm-max","input":{"messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"%s"}]},` +
		`"parameters":{"result_format":"message","temperature":0.7,"max_tokens":512}}`
	return fmt.Sprintf(body, strings.Repeat("x", size-len(body)+2))
}

// compare sends b.N requests to each child, in alternating rounds. The ratios are the last one's to the first one's.
func compare(b *testing.B, names []string, children []*child, request []byte, clients, chunk int) {
	compareEach(b, names, children, slices.Repeat([][]byte{request}, len(children)), clients, chunk)
}

// compareEach is compare with a different request for each child.
func compareEach(b *testing.B, names []string, children []*child, requests [][]byte, clients, chunk int) {
	type side struct {
		*child
		conns         []*benchConn
		took          time.Duration
		before, after stats
	}
	sides := make([]side, len(children))
	for i := range sides {
		s := &sides[i]
		s.child, s.conns = children[i], dialAll(b, children[i].address, clients)
		drive(b, s.conns, requests[i], min(chunk, 500)) // warm connections, pools and the scheduler
		s.before = s.read("")
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += chunk {
		for i := range sides {
			start := time.Now()
			drive(b, sides[i].conns, requests[i], min(chunk, b.N-done))
			sides[i].took += time.Since(start)
		}
	}
	b.StopTimer()
	n := float64(b.N)
	for i, name := range names {
		s := &sides[i]
		s.after = s.read("")
		b.ReportMetric(n/s.took.Seconds(), name+"-req/s")
		b.ReportMetric((s.after.cpu-s.before.cpu)/n, name+"-cpu-µs/req")
		b.ReportMetric((s.after.mallocs-s.before.mallocs)/n, name+"-allocs/req")
	}
	first, last := &sides[0], &sides[len(sides)-1]
	b.ReportMetric(first.took.Seconds()/last.took.Seconds(), "ratio")
	b.ReportMetric((last.after.cpu-last.before.cpu)/(first.after.cpu-first.before.cpu), "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// benchConn is a cheap client connection.
type benchConn struct {
	net.Conn
	in *bufio.Reader
}

func dialAll(b testing.TB, address string, n int) []*benchConn {
	b.Helper()
	conns := make([]*benchConn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		conns[i] = &benchConn{conn, bufio.NewReaderSize(conn, 64<<10)}
	}
	return conns
}

// drive sends n requests over the connections, each as fast as it answers.
func drive(b *testing.B, conns []*benchConn, request []byte, n int) {
	var wg sync.WaitGroup
	for i, conn := range conns {
		share := n / len(conns)
		if i < n%len(conns) {
			share++
		}
		wg.Go(func() {
			for range share {
				if err := conn.exchange(request); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// exchange reads an answer without parsing all of it: status line, headers, and a body framed by length or by chunks.
func (c *benchConn) exchange(request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	length, status := -1, ""
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if status == "" {
			status = string(line)
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200") {
		return fmt.Errorf("answered %q", status)
	}
	if length >= 0 {
		_, err := c.in.Discard(length)
		return err
	}
	return c.chunks()
}

func (c *benchConn) chunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := c.in.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
