package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/simulator"
)

// page reads the metrics page.
func (h *house) page(t *testing.T) string {
	t.Helper()
	status, text, err := ask(newClient(t), "http://"+h.admin, "/metrics", "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %v", status, err)
	}
	return text
}

// value reads one series; 0: it does not exist.
func (h *house) value(t *testing.T, series string) float64 {
	t.Helper()
	match := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(h.page(t))
	if match == nil {
		return 0
	}
	n, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// load sends n requests, eight at a time, and counts the successful ones.
func (h *house) load(t *testing.T, n int, headers ...string) (well int64) {
	t.Helper()
	client := newClient(t)
	defer client.CloseIdleConnections() // a stopping server waits for unused connections
	var sent, good atomic.Int64
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			for sent.Add(1) <= int64(n) {
				if answer, _ := send(t, client, "POST", "http://"+h.public+textURL, demoText, headers...); answer.StatusCode == http.StatusOK {
					good.Add(1)
				}
			}
		})
	}
	sending.Wait()
	return good.Load()
}

// A collector that is absent, refuses, or answers nonsense changes nothing for the teams; losses are counted,
// and the log has one line about them.
func TestACollectorThatFails(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"away":    nil,
		"error":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"large":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
		"garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("\xff", 1000))) },
	} {
		t.Run(name, func(t *testing.T) {
			collector := collecting(t, answer)
			t.Setenv("OTEL_LOGS_EXPORTER", "none")
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
			if answer == nil {
				collector.server.Close()
			}
			_, upstream := newService(t, simulator.Config{})
			begun := time.Now()
			h := serving(t, upstream.URL)
			if took := time.Since(begun); isLong() && took > 2*time.Second {
				t.Errorf("ready after %v", took)
			}
			if well := h.load(t, 100); well != 100 {
				t.Errorf("%d of 100 requests were answered", well)
			}
			dropped := `sluice_telemetry_dropped_total{reason="collector",signal="traces"}`
			for end := time.Now().Add(patience); name != "garbage" && h.value(t, dropped) == 0; <-time.After(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("losses are not counted")
				}
			}
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d", code)
			}
			if asked := collector.asked.Load(); (asked == 0) != (answer == nil) {
				t.Errorf("the collector got %d requests", asked)
			}
			if n := strings.Count(string(h.log.bytes()), `"msg":"telemetry","error"`); n > 2 { // one of the minute, one of the end
				t.Errorf("%d lines of it in\n%s", n, h.log.bytes())
			}
		})
	}
}

// A collector that hangs: no request waits, the queue is bounded and losses are counted, the ledger has
// everything, and the process ends without it.
func TestACollectorThatHangs(t *testing.T) {
	t.Parallel()
	collector := newCollector(t, hangs)
	_, upstream := newService(t, simulator.Config{})
	p := startGatewayProcess(t, servingEnviron(t, upstream.URL, // which has variables of its own
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.server.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_BSP_MAX_QUEUE_SIZE=64",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=16", "OTEL_LOGS_EXPORTER=otlp", "OTEL_BLRP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=60000",
		fmt.Sprintf("OTEL_EXPORTER_OTLP_TIMEOUT=%d", 2*patience.Milliseconds()), // the longest time of an export
	))
	h := &house{public: p.public, admin: p.admin}
	const requests = 300
	if well := h.load(t, requests); well != requests {
		t.Errorf("%d of %d requests were answered", well, requests)
	}
	if lost := h.value(t, `sluice_telemetry_dropped_total{reason="queue",signal="traces"}`); lost < 2*requests-64 || lost > 2*requests {
		t.Errorf("%v spans of %d are counted as lost, 64 may wait", lost, 2*requests)
	}
	_, text, err := ask(newClient(t), "http://"+h.admin, "/usage", "")
	var report admin.UsageReport
	if err = errors.Join(err, json.Unmarshal([]byte(text), &report)); err != nil || len(report.Rows) == 0 {
		t.Fatalf("%v %s", err, text)
	}
	if !strings.Contains(text, `"requests"`) || !strings.Contains(text, fmt.Sprint(requests)) {
		t.Errorf("the ledger lacks some of %d requests: %s", requests, text)
	}
	begun := time.Now()
	p.terminate(t)
	if took := time.Since(begun); took > patience || isLong() && took > 6*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// If all clients ask for sampling, few traces are recorded.
func TestClientsCannotForceSampling(t *testing.T) {
	collector := collecting(t, nil)
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TRACE_CONTEXT=join")
	begun := time.Now()
	if well := h.load(t, 500, "Traceparent", traceparent); well != 500 {
		t.Errorf("%d of 500 requests were answered", well)
	}
	bound := 10 * (int(time.Since(begun)/time.Second) + 2)
	h.stop()
	if n := len(collector.named(serverText)); n == 0 || n > bound {
		t.Errorf("%d traces of 500 were recorded, want some and at most %d", n, bound)
	}
}

// Without settings nothing is sent: no exporter tries a default address.
func TestNothingSetNothingSent(t *testing.T) {
	var tried atomic.Int64
	for _, port := range []string{"4317", "4318"} {
		listener, err := net.Listen("tcp", "localhost:"+port)
		if err != nil {
			t.Skipf("the exporters' default port is taken on this machine: %v", err)
		}
		defer func() { _ = listener.Close() }()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				tried.Add(1)
				_ = conn.Close()
			}
		}()
	}
	t.Setenv("OTEL_SERVICE_NAME", "a-name-alone-sends-nothing")
	for _, disabled := range []bool{false, true} {
		if disabled {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
			t.Setenv("OTEL_SDK_DISABLED", "true")
		}
		_, upstream := newService(t, simulator.Config{})
		h := serving(t, upstream.URL)
		h.load(t, 20)
		h.stop()
		if strings.Contains(string(h.log.bytes()), `"msg":"telemetry"`) || tried.Load() != 0 {
			t.Errorf("disabled %v: %d connections were tried", disabled, tried.Load())
		}
	}
}

// Whatever clients send, the page has the same series.
func TestSeriesAreBounded(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL)
	client := newClient(t)
	round := func(i int) {
		model := fmt.Sprintf(`{"model":"m-%d","input":{"messages":[{"role":"user","content":"a"}]}}`, i)
		send(t, client, "POST", "http://"+h.public+textURL, model)
		send(t, client, "GET", fmt.Sprintf("http://%s/api/v1/p%d", h.public, i), "")
		send(t, client, fmt.Sprintf("M%d", i), "http://"+h.public+textURL, "")
		send(t, client, "GET", "http://"+h.public+"/api/v1/tasks/"+fmt.Sprint(i), "", "Authorization", fmt.Sprintf("Bearer slk_%012d_x", i))
	}
	series := func() (names []string) {
		for line := range strings.Lines(h.page(t)) {
			if name, _, ok := strings.Cut(line, " "); ok && name != "#" {
				names = append(names, name)
			}
		}
		return names
	}
	round(0)
	before := series()
	var rounds sync.WaitGroup
	var next atomic.Int64
	for range 8 {
		rounds.Go(func() {
			for i := next.Add(1); i <= 2500; i = next.Add(1) {
				round(int(i))
			}
		})
	}
	rounds.Wait()
	if after := series(); len(after) != len(before) {
		t.Errorf("%d series before, %d after 10,000 random requests", len(before), len(after))
	}
	if n := h.value(t, "sluice_overhead_seconds_count"); n < 10_000 {
		t.Errorf("only %v requests were measured", n)
	}
	h.stop()
}

// An exporter that does not exist is a fault of the configuration.
func TestFaultyExporter(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "CANARY")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key: CANARY")
	for _, name := range []string{"check", "serve"} {
		got := command(stopped(), with("SLUICE_TEAMS_FILE="+write(t, someTeams)), name)
		if got.code != exitFaulty || !strings.Contains(got.stderr, "OTEL_TRACES_EXPORTER: allowed: otlp, console or none") ||
			!strings.Contains(got.stderr, "OTEL_EXPORTER_OTLP_HEADERS: allowed: ") || strings.Contains(got.text(), "CANARY") {
			t.Errorf("%+v", got)
		}
	}
}
