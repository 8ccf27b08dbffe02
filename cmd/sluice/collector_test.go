package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	collectlog "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlplog "go.opentelemetry.io/proto/otlp/logs/v1"
	otlpmetric "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlptrace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP, as an OpenTelemetry collector does.
type collector struct {
	*testing.T
	server *httptest.Server
	asked  atomic.Int64
	answer func(w http.ResponseWriter, r *http.Request) // nil: accept everything

	mu      sync.Mutex
	spans   []*otlptrace.Span
	metrics map[string]*otlpmetric.Metric // the last report of each
	logs    []*otlplog.LogRecord
	about   map[string]any // the resource of the process that sent metrics
	raw     bytes.Buffer   // everything received, for sweeps
}

// newCollector starts a collector, for processes whose variables name it.
func newCollector(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *collector {
	t.Helper()
	c := &collector{T: t, answer: answer, metrics: make(map[string]*otlpmetric.Metric)}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	t.Cleanup(c.server.CloseClientConnections)
	return c
}

// collecting starts a collector and points the SDK's variables at it for the rest of the test.
func collecting(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *collector {
	t.Helper()
	c := newCollector(t, answer)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.server.URL, "OTEL_LOGS_EXPORTER": "otlp", "OTEL_BSP_SCHEDULE_DELAY": "20",
		"OTEL_METRIC_EXPORT_INTERVAL": "60000", "OTEL_BLRP_SCHEDULE_DELAY": "20",
	} {
		t.Setenv(name, value)
	}
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked.Add(1)
	if c.answer != nil {
		c.answer(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err != nil {
		c.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.take(r.URL.Path, body)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *collector) take(path string, body []byte) {
	read := func(m proto.Message) {
		if err := proto.Unmarshal(body, m); err != nil {
			c.Error(err)
		}
	}
	switch path {
	case "/v1/traces":
		m := new(collecttrace.ExportTraceServiceRequest)
		read(m)
		for _, r := range m.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				c.spans = append(c.spans, s.GetSpans()...)
			}
		}
	case "/v1/metrics":
		m := new(collectmetric.ExportMetricsServiceRequest)
		read(m)
		for _, r := range m.GetResourceMetrics() {
			c.about = plain(r.GetResource().GetAttributes())
			for _, s := range r.GetScopeMetrics() {
				for _, metric := range s.GetMetrics() {
					c.metrics[metric.GetName()] = metric
				}
			}
		}
	case "/v1/logs":
		m := new(collectlog.ExportLogsServiceRequest)
		read(m)
		for _, r := range m.GetResourceLogs() {
			for _, s := range r.GetScopeLogs() {
				c.logs = append(c.logs, s.GetLogRecords()...)
			}
		}
	default:
		c.Errorf("the collector received %s", path)
	}
}

// named returns the spans of that name, in the order of arrival.
func (c *collector) named(name string) []*seenSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*seenSpan
	for _, s := range c.spans {
		if s.GetName() == name {
			found = append(found, newSeenSpan(s))
		}
	}
	return found
}

// one returns the only span of that name.
func (c *collector) one(name string) *seenSpan {
	c.Helper()
	found := c.named(name)
	if len(found) != 1 {
		c.Fatalf("%d spans are named %q, of %q", len(found), name, c.names())
	}
	return found[0]
}

func (c *collector) names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		names = append(names, s.GetName())
	}
	return names
}

// seenSpan is a span with its attributes as plain values: string, int64, float64, bool or a list of strings.
type seenSpan struct {
	*otlptrace.Span
	attributes map[string]any
}

func newSeenSpan(s *otlptrace.Span) *seenSpan {
	return &seenSpan{s, plain(s.GetAttributes())}
}

func plain(list []*common.KeyValue) map[string]any {
	values := make(map[string]any)
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			values[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			values[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			values[kv.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			values[kv.GetKey()] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			var texts []string
			for _, item := range v.ArrayValue.GetValues() {
				texts = append(texts, item.GetStringValue())
			}
			values[kv.GetKey()] = texts
		}
	}
	return values
}

func (s *seenSpan) trace() string  { return hex.EncodeToString(s.GetTraceId()) }
func (s *seenSpan) id() string     { return hex.EncodeToString(s.GetSpanId()) }
func (s *seenSpan) parent() string { return hex.EncodeToString(s.GetParentSpanId()) }

// linked reports whether a span is linked to another.
func (s *seenSpan) linked(trace, span string) bool {
	for _, l := range s.GetLinks() {
		if hex.EncodeToString(l.GetTraceId()) == trace && hex.EncodeToString(l.GetSpanId()) == span {
			return true
		}
	}
	return false
}

// has compares attributes; nil wants an attribute absent.
func (s *seenSpan) has(t *testing.T, wants map[string]any) {
	t.Helper()
	for name, want := range wants {
		if got := s.attributes[name]; !same(got, want) {
			t.Errorf("%s: %s is %v (%T), want %v", s.GetName(), name, got, got, want)
		}
	}
}

func same(got, want any) bool {
	list, isList := want.([]string)
	if !isList {
		if n, isInt := want.(int); isInt {
			want = int64(n)
		}
		return got == want
	}
	texts, _ := got.([]string)
	if len(texts) != len(list) {
		return false
	}
	for i := range list {
		if texts[i] != list[i] {
			return false
		}
	}
	return true
}

// hangs accepts requests and never answers, until the connection ends.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
