package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
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
	spans    *spanQueue
	host     string // of the service
	port     int64
	latest   bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, about *resource.Resource, spans *spanQueue) *Traces {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(newSampler(config.Logger, time.Now)))
	host, port := serverOf(config.Upstream)
	opted := strings.Split(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") // OpenTelemetry's list of conventions to opt in to
	latest := slices.ContainsFunc(opted, func(word string) bool { return strings.TrimSpace(word) == latestGenAI })
	return &Traces{
		config: config, provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(config.Version)), spans: spans,
		host: host, port: port, latest: latest,
	}
}

// close sends the queue, for as long as the context lasts. It ends the queue itself, because the provider does not if the context has
// ended before.
func (t *Traces) close(ctx context.Context) error {
	return cmp.Or(t.provider.Shutdown(ctx), t.spans.Shutdown(ctx))
}

// Unended returns how many spans were begun and have not ended. It is for tests.
func (t *Traces) Unended() int64 { return t.spans.unended.Load() }

// begin begins a child of the context's span, or without one the root of a trace. The sampler decides whether it is recorded.
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

// flaggedPerSecond bounds the traces a second that are recorded only because clients set the sampled flag.
const flaggedPerSecond = 10

// envSampler is the SDK's variable that selects what is recorded.
const envSampler = "OTEL_TRACES_SAMPLER"

// sampler decides which requests are recorded, before a span is made. If a client's sampled flag is off, the request is not recorded;
// if it is on, it is recorded within a bound, or one client could flood the collector. The trace id decides nothing, because the
// client chose it.
type sampler struct {
	ratio float64 // of all requests, 0 to 1
	off   bool    // nothing is recorded, whatever clients ask for
	now   func() time.Time
	flags *rate.Limiter // bounds the traces recorded for clients' flags
}

func newSampler(log *slog.Logger, now func() time.Time) *sampler {
	return &sampler{
		ratio: readRatio(log), off: os.Getenv(envSampler) == "always_off", now: now,
		flags: rate.NewLimiter(flaggedPerSecond, flaggedPerSecond),
	}
}

// ShouldSample implements the SDK's interface. A child of a recorded span of this process is recorded.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	inside := parent.IsValid() && !parent.IsRemote()
	if inside && parent.IsSampled() || !inside && s.records(parent) {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

// Description implements the SDK's interface.
func (s *sampler) Description() string { return "sluice" }

// records decides for a request. client is the span that it joins; invalid: none.
func (s *sampler) records(client trace.SpanContext) bool {
	switch {
	case client.IsValid() && !client.IsSampled():
		return false
	case s.ratio == 1 || s.ratio > 0 && rand.Float64() < s.ratio:
		return true
	}
	return client.IsValid() && !s.off && s.flags.AllowN(s.now(), 1)
}

// readRatio reads OTEL_TRACES_SAMPLER. The parentbased_ samplers equal the others here, because sampler has its own rule for
// parents. An invalid value is logged and the default is used, as the specification says.
func readRatio(log *slog.Logger) float64 {
	name, argument := os.Getenv(envSampler), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return 1
	case "always_off":
		return 0
	case "traceidratio":
		ratio, err := strconv.ParseFloat(argument, 64)
		if err == nil && ratio >= 0 && ratio <= 1 {
			return ratio
		}
		if argument != "" {
			log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER_ARG: allowed: a ratio from 0 to 1; every trace is recorded"))
		}
		return 1
	}
	log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER: allowed: always_on, always_off, traceidratio, and these with "+
		"parentbased_ before them; every trace is recorded"))
	return 1
}

// Span is a span that will be sent. The zero value is no span.
type Span struct{ of trace.Span }

// Recording reports whether there is a span, so that its attributes are worth collecting.
func (s Span) Recording() bool { return s.of != nil }

// Traceparent returns the span as a W3C traceparent header; empty: no span.
func (s Span) Traceparent() string {
	if !s.Recording() {
		return ""
	}
	c := s.of.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-01"
}

// parent returns the context for children of the span.
func (s Span) parent() context.Context {
	if !s.Recording() {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), s.of)
}

// fail sets the status to error. The text may be empty.
func (s Span) fail(text string) { s.of.SetStatus(codes.Error, valid(text)) }

// readTraceparent reads a traceparent; an invalid one counts as absent. tracestate and baggage are ignored, because clients may
// put anything into them.
func readTraceparent(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}
