package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sluice/gateway/admin"
	"sluice/gateway/simulator"
)

// gatewayProcess is a gateway in another process, which can be killed.
type gatewayProcess struct {
	cmd           *exec.Cmd
	public, admin string // addresses
	log           *transcript
}

func startGatewayProcess(t *testing.T, environ []string) *gatewayProcess {
	t.Helper()
	return startBinary(t, gatewayBinary(t), environ)
}

// gatewayBinary is the binary that serves as a gateway in another process. It has no race detector: with it, three replicas under load take
// all of two cores, and calls of Redis time out. What runs inside the test, and the processes of TestScripts, are as the test is.
func gatewayBinary(t *testing.T) string {
	t.Helper()
	binary, err := builtBinary()
	must(t, err)
	return binary
}

// builtBinary is this program of tests itself, unless it has the race detector.
var builtBinary = sync.OnceValues(func() (string, error) {
	info, _ := debug.ReadBuildInfo()
	if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" }) {
		return os.Args[0], nil
	}
	binary := filepath.Join(binaries, "sluice")
	if said, err := exec.Command("go", "build", "-race=false", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("sluice cannot be built: %w: %s", err, said)
	}
	return binary, nil
})

// startBinary is startGatewayProcess of another binary of sluice.
func startBinary(t *testing.T, binary string, environ []string) *gatewayProcess {
	t.Helper()
	said := newTranscript()
	p := &gatewayProcess{cmd: exec.Command(binary), log: said}
	p.cmd.Args = []string{"sluice", "serve"}
	p.cmd.Env = append(environ, "PATH="+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=20") // otherwise under -race it takes a second to end
	p.cmd.Stdout, p.cmd.Stderr = said, said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	match, err := said.find(waiting, regexp.MustCompile(`"msg":"serving","listen":"([^"]+)".*"admin":"([^"]+)"`))
	if err != nil {
		t.Fatalf("%v; it said\n%s", err, said.bytes())
	}
	p.public, p.admin = string(match[1]), string(match[2])
	return p
}

func (p *gatewayProcess) kill() {
	_ = p.cmd.Process.Kill()
	_, _ = p.cmd.Process.Wait()
}

// crash is a request in flight when its gateway is killed.
type crash struct{ kind, path, body, header string }

var crashes = []crash{
	{"text", textURL, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`, ""},
	{"stream", textURL, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`, "X-Service-SSE"},
	{"image task", "/api/v1/services/aigc/image-generation/generation",
		`{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"a"},{"image":"https://example.com/a.png"}]}]},` +
			`"parameters":{"n":3}}`, "X-Service-Async"},
}

// A gateway is killed while a request is at upstream, at every moment that upstream can see. The hold remains, and when its lease
// expires it is charged, once, as estimated. The test ends the lease.
func TestKilledWhileUpstreamWorks(t *testing.T) {
	for _, c := range crashes {
		for _, moment := range []string{"connected", "received", "answering"} {
			t.Run(c.kind+"/"+moment, func(t *testing.T) {
				t.Parallel()
				server := startRedis(t)
				var gate *gatewayProcess
				started := make(chan struct{})
				kill := func() { <-started; gate.kill() }
				upstream := crashingUpstream(t, c, moment, kill)
				environ := crashEnviron(t, server, upstream)
				gate = startGatewayProcess(t, environ)
				close(started)
				request, err := http.NewRequest(http.MethodPost, "http://"+gate.public+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", "Bearer test")
				request.Header.Set("Content-Type", "application/json")
				if c.header != "" {
					request.Header.Set(c.header, "enable")
				}
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				if answer, err := client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				open := server.do("ZRANGE", "sl1:{search}:open", 0, -1).([]any)
				if len(open) != 1 {
					t.Fatalf("%d holds are open, want 1", len(open))
				}
				server.do("ZADD", "sl1:{search}:open", 1, open[0])
				second := startGatewayProcess(t, crashEnviron(t, server, simulated(t)))
				for range 2 {
					if status, body, err := ask(newClient(t), "http://"+second.public, textURL, c.textBody()); err != nil || status != 200 {
						t.Fatalf("%d %s %v", status, body, err)
					}
				}
				second.stop(t)
				report := usageOf(t, server)
				unit, want := "tokens", ""
				if c.kind == "image task" {
					unit, want = "images", "3"
				}
				for _, row := range report.Rows {
					if row.Model == "llm-plus" || string(row.Unit) != unit {
						continue
					}
					if row.Used == "0" || row.Estimated != row.Used || want != "" && row.Used.String() != want {
						t.Errorf("charged %+v", row)
					}
					want = "seen"
				}
				if want != "seen" {
					t.Errorf("nothing was charged: %+v", report)
				}
				if n := len(server.do("ZRANGE", "sl1:{search}:open", 0, -1).([]any)); n != 0 {
					t.Errorf("%d holds are still open", n)
				}
			})
		}
	}
}

// textBody is a request for another model, so that its charge is distinguishable.
func (c crash) textBody() string {
	return `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"hello"}]}}`
}

// stop stops the process cleanly: everything pending is settled by then.
func (p *gatewayProcess) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func simulated(t *testing.T) string {
	_, upstream := newService(t, simulator.Config{})
	return upstream.URL
}

func crashEnviron(t *testing.T, server *redisServer, upstream string) []string {
	return servingEnviron(t, upstream, "SLUICE_REDIS_URL="+server.url())
}

func usageOf(t *testing.T, server *redisServer) (report admin.UsageReport) {
	t.Helper()
	got := command(t.Context(), []string{"SLUICE_REDIS_URL=" + server.url()}, "usage", "--json", "--team", "search")
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	return report
}

// crashingUpstream kills the gateway at a moment: when it connects, when its request has come, or inside the answer.
func crashingUpstream(t *testing.T, c crash, moment string, kill func()) string {
	t.Helper()
	if moment == "connected" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			if conn, err := listener.Accept(); err == nil {
				kill()
				_ = conn.Close()
			}
		}()
		return "http://" + listener.Addr().String()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if moment == "answering" {
			switch c.kind {
			case "text":
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"output":{"text":"hel`)
			case "stream":
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data:{"output":{"text":"hel"},"usage":{"input_tokens":3,"output_tokens":1}}`+"\n\n")
			default: // half of the creation's answer: the task runs, and its id is unknown
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"output":{"task_status":"PENDING","task_id":"0385`)
			}
			_ = http.NewResponseController(w).Flush()
		}
		kill()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A gateway that is killed before the request is whole has held nothing and sent nothing.
func TestKilledBeforeTheHold(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	service, upstream := newService(t, simulator.Config{})
	gate := startGatewayProcess(t, crashEnviron(t, server, upstream.URL))
	conn, err := net.Dial("tcp", gate.public)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer test\r\nContent-Type: "+
		"application/json\r\nContent-Length: 1000\r\n\r\n{\"model\"", textURL)
	// it has read the bytes sent before
	if status, _, err := ask(newClient(t), "http://"+gate.public, "/api/v1/tasks", ""); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	gate.kill()
	if keys := server.do("KEYS", "sl1:{search}:*").([]any); len(keys) != 0 {
		t.Errorf("Redis has %v", keys)
	}
	if n := service.Count(simulator.EndpointText); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// A request that was settled before the crash stays settled.
func TestKilledAfterTheSettlement(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	_, upstream := newService(t, simulator.Config{})
	gate := startGatewayProcess(t, crashEnviron(t, server, upstream.URL))
	if status, _, err := ask(newClient(t), "http://"+gate.public, textURL, crashes[0].body); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	wait(t, "settled", func() bool {
		return len(server.do("ZRANGE", "sl1:{search}:open", 0, -1).([]any)) == 0 && server.do("EXISTS", "sl1:{search}:quota").(int64) == 1
	})
	before := usageOf(t, server)
	gate.kill()
	if after := usageOf(t, server); fmt.Sprint(after) != fmt.Sprint(before) || len(after.Rows) == 0 || after.Rows[0].Estimated != "0" {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// terminate sends SIGTERM and waits until the process has stopped.
func (p *gatewayProcess) terminate(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if state, err := p.cmd.Process.Wait(); err != nil || state.ExitCode() != exitClean {
		t.Errorf("%v, %v", state, err)
	}
}
