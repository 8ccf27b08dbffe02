package telemetry

import (
	"context"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// latestGenAI selects the newest conventions for generative models instead of version 1.41. They differ here in one point: the
// span of a fetch_response names what it fetched as gen_ai.response.id.
const latestGenAI = "gen_ai_latest_experimental"

// Traces makes spans with the SDK's tracer. [Open] makes it. A nil Traces makes none. Its methods may be called from any goroutine
// and do not wait.
type Traces struct {
	config   Config
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	spans    *otlp.Spans
	host     string // of the service
	port     int64
	latest   bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, about *resource.Resource, spans *otlp.Spans) *Traces {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(newSampler(config.Logger, time.Now)))
	return &Traces{
		config: config, provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(config.Version)), spans: spans,
		host: config.upstreamHost(), port: config.upstreamPort(), latest: optsIn(latestGenAI),
	}
}

// optsIn reads the standard's list of conventions to use instead of the default ones.
func optsIn(to string) bool {
	for word := range strings.SplitSeq(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(word) == to {
			return true
		}
	}
	return false
}

// Unended returns how many spans were begun and have not ended. It is for tests.
func (t *Traces) Unended() int64 { return t.spans.Unended() }

// begin begins a span inside the one that the context names; none: the span is the first of its trace. The sampler decides whether
// it is recorded.
func (t *Traces) begin(ctx context.Context, name string, at time.Time, kind trace.SpanKind, links ...trace.SpanContext) Span {
	options := []trace.SpanStartOption{trace.WithTimestamp(at), trace.WithSpanKind(kind)}
	for _, link := range links {
		if link.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: link}))
		}
	}
	_, span := t.tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}
