package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
)

// Only the settings decide which signals are sent.
func TestWants(t *testing.T) {
	for _, tt := range []struct {
		variables string
		want      string // the signals that are sent
	}{
		{"", ""},
		{"OTEL_SERVICE_NAME=x OTEL_TRACES_SAMPLER=always_on", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "traces metrics"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_METRICS_EXPORTER=none", "traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_METRICS_EXPORTER=prometheus", "traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_SDK_DISABLED=TRUE", ""},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://127.0.0.1:1", "logs"},
		{"OTEL_LOGS_EXPORTER=otlp OTEL_TRACES_EXPORTER=otlp OTEL_METRICS_EXPORTER=otlp", "traces metrics logs"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:1", "traces"},
	} {
		t.Run(tt.variables, func(t *testing.T) {
			for pair := range strings.FieldsSeq(tt.variables) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(tells.Sent, " "); got != tt.want {
				t.Errorf("%q is sent, want %q", got, tt.want)
			}
			_ = tells.Close(t.Context()) // no collector listens there
		})
	}
}

// An unreadable value is a fault, reported without the value by this package, and not at all by the library.
func TestEnvironmentFaults(t *testing.T) {
	for variable, faulty := range map[string]bool{
		"OTEL_TRACES_EXPORTER=CANARY":                              true,
		"OTEL_EXPORTER_OTLP_ENDPOINT=CANARY":                       true,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:CANARY@h:%zz":     true,
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":             true,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                         false,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key: CANARY":               true,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=CANARY%zz":             true,
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=CANARY%20x,b=c":        false,
		"OTEL_RESOURCE_ATTRIBUTES=CANARY":                          true,
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=dev": false,
		"OTEL_METRICS_PRODUCERS=none":                              true,
	} {
		t.Run(variable, func(t *testing.T) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
			faults := Faults()
			if (len(faults) > 0) != faulty || faulty && faults[0].Name != name || strings.Contains(fmt.Sprint(faults), "CANARY") {
				t.Errorf("%v", faults)
			}
			t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
			var log bytes.Buffer
			if tells, err := Open(t.Context(),
				Config{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}); err == nil {
				_ = tells.Close(t.Context()) // no collector listens there
			}
			if strings.Contains(log.String(), "CANARY") {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}

func openStuck(t *testing.T, s *collector) *Telemetry {
	t.Helper()
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Exporter: otlptrace.NewUnstarted(s)})
	if err != nil {
		t.Fatal(err)
	}
	return tells
}

func pageOf(m *Metrics) string {
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	return page.Body.String()
}

func spans(tells *Telemetry, n int) {
	for range n {
		r := Record{Time: time.Now(), Method: "GET", Route: "/r"}
		tells.Traces.Begin(&r, nil)
		tells.Traces.End(&r)
	}
}

// The queue is bounded, the newest spans are lost, and each loss is counted: spans without room and spans that the
// collector refused.
func TestTheGateBoundsWhatWaits(t *testing.T) {
	s := &collector{release: make(chan struct{}), err: errors.New("refused")}
	tells := openStuck(t, s)
	spans(tells, 35)
	if got := pageOf(tells.Metrics); !strings.Contains(got, `sluice_telemetry_dropped_total{reason="queue",signal="traces"} 25`+"\n") {
		t.Errorf("of 35 spans 10 may wait, but the page says\n%s", got)
	}
	close(s.release)
	_ = tells.Traces.provider.Shutdown(t.Context())
	if len(s.spans) != 10 {
		t.Errorf("%d spans were sent", len(s.spans))
	}
	if n := tells.Traces.spans.gate.refused.Load(); n != 10 {
		t.Errorf("%d are counted as refused, of 10 that were", n)
	}
	if err := tells.Metrics.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Close waits no longer than its bound.
func TestCloseIsBounded(t *testing.T) {
	s := &collector{release: make(chan struct{})}
	tells := openStuck(t, s)
	spans(tells, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := tells.Close(ctx); err == nil {
		t.Error("Close reports that everything was sent")
	}
	close(s.release)
}

// The queue for a collector that hangs takes no more than 32 MiB, however large each span is.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a queue of 32 MiB")
	}
	s := &collector{release: make(chan struct{})}
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Exporter: otlptrace.NewUnstarted(s), Capture: true})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 3 * 2048 {
		text := strings.Repeat("a", 8<<10)
		r := Record{Time: time.Now(), Method: "POST", Route: "/r", Model: text, Task: text}
		tells.Traces.Begin(&r, nil)
		var x Exchange
		x.Begin(tells.Traces, nil, SpanInfo{Operation: OperationChat, Model: text, Parent: r.Span, Parameters: &Parameters{
			Body: []byte(`{"input":{"messages":[{"role":"system","content":"` + text + `"},{"role":"user","content":"` + text + `"}]}}`),
		}}, r.Time)
		x.Arrived([]byte(`{"output":{"text":"`+text+`"}}`), r.Time)
		x.End(Result{Status: 200}, r.Time)
		tells.Traces.End(&r)
	}
	if grew := int64(heap()) - int64(before); grew > 32<<20 {
		t.Errorf("%d MiB wait to be sent", grew>>20)
	}
	if tells.Traces.spans.gate.full.Load() == 0 {
		t.Error("every span found room")
	}
	close(s.release)
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A process whose time to stop has passed leaves no queue running. The package's tests end with a look for goroutines.
func TestAStopWithoutTimeEndsTheQueues(t *testing.T) {
	s := &collector{release: make(chan struct{})}
	tells := openStuck(t, s)
	spans(tells, 5)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := tells.Close(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(s.release)
}
