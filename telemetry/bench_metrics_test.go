package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"sluice/telemetry/meter"
)

// BenchmarkRequest measures telemetry's cost for a request of a model, on the request's goroutine: with metrics only, with a
// sampler that drops the span, and recorded.
func BenchmarkRequest(b *testing.B) {
	for _, tt := range []struct{ name, sampler string }{{"metrics", ""}, {"not-recorded", "always_off"}, {"recorded", "always_on"}} {
		b.Run(tt.name, func(b *testing.B) {
			b.Setenv("OTEL_TRACES_SAMPLER", tt.sampler)
			b.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1000000") // a span without room costs less
			config := Config{Logger: slog.New(slog.DiscardHandler), Provider: "service"}
			if tt.sampler != "" {
				config.Exporter = otlptrace.NewUnstarted(forgetting{})
			}
			tells, err := Open(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			var header http.Header
			reading := meter.Reading{ResponseID: "7f3c", FinishReasons: []string{"stop"}}
			reading.Usage.Raise(meter.InputTokens, 20)
			reading.Usage.Raise(meter.OutputTokens, 140)
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				r := Record{Time: now, Method: "POST", Route: "/api/v1/x", Team: "bench", Status: 200, Model: "llm-max", Duration: time.Second}
				tells.Metrics.Arrived()
				tells.Traces.Begin(&r, header)
				var x Exchange
				x.Begin(tells.Traces, tells.Metrics, SpanInfo{Operation: OperationChat, Model: "llm-max", Label: "other", Team: "bench",
					Parent: r.Span}, now)
				x.End(Result{Status: 200, Reading: &reading}, now)
				tells.Metrics.Served(&r)
				tells.Traces.End(&r)
			}
			if tells.Traces != nil {
				b.ReportMetric(float64(tells.Traces.spans.gate.full.Load())/float64(b.N), "lost/op")
			}
			_ = tells.Close(b.Context())
		})
	}
}

// forgetting accepts spans and drops them.
type forgetting struct{}

func (forgetting) Start(context.Context) error                                  { return nil }
func (forgetting) Stop(context.Context) error                                   { return nil }
func (forgetting) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return nil }
