package telemetry

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// latestGenAI chooses, among the conventions for generative models, the newest instead of version 1.41. Of what is told here
// they differ in one point: fetch_response is theirs, and its span names what was fetched as gen_ai.response.id.
const latestGenAI = "gen_ai_latest_experimental"

// optsIn reads the standard's list of conventions that are preferred to the default ones.
func optsIn(to string) bool {
	for word := range strings.SplitSeq(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(word) == to {
			return true
		}
	}
	return false
}

// Traces makes spans. It is made by [Open]. A nil Traces makes none. Its methods are called from any goroutine and wait
// for nothing.
type Traces struct {
	config  Config
	queue   *otlp.Queue
	sampler *sampler
	unended atomic.Int64
	host    string // of the service
	port    int64
	latest  bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, queue *otlp.Queue) *Traces {
	return &Traces{
		config: config, queue: queue, host: config.upstreamHost(), port: config.upstreamPort(), latest: optsIn(latestGenAI),
		sampler: newSampler(config.Logger, time.Now),
	}
}

// Unended counts the spans that were begun and have not ended. Tests ask.
func (t *Traces) Unended() int64 { return t.unended.Load() }

// Span is one that was begun, and will be sent. The zero value is none.
type Span struct {
	trace trace.TraceID
	id    trace.SpanID
}

// begin begins a span: one of a trace, or, where that is none, the first of its own. All that a span tells it tells at its
// end.
func (t *Traces) begin(of trace.TraceID) Span {
	s := Span{trace: of}
	for !s.trace.IsValid() {
		putRandom(s.trace[:8])
		putRandom(s.trace[8:])
	}
	for !s.id.IsValid() {
		putRandom(s.id[:])
	}
	t.unended.Add(1)
	return s
}

func putRandom(b []byte) {
	for i, n := 0, rand.Uint64(); i < len(b); i, n = i+1, n>>8 {
		b[i] = byte(n)
	}
}

// end counts a span's end and begins to write it; nil: there is no room for it.
func (t *Traces) end(h *otlp.Head) *otlp.Span {
	t.unended.Add(-1)
	return t.queue.Write(h)
}

// Recording reports whether anybody will see the span, so that what it would tell is worth finding out.
func (s Span) Recording() bool { return s.id.IsValid() }

func (s Span) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.id, TraceFlags: trace.FlagsSampled})
}

// Traceparent is the span as the W3C's header of that name has it; "" is none.
func (s Span) Traceparent() string {
	if !s.Recording() {
		return ""
	}
	var text [55]byte
	copy(text[:], "00-")
	hex.Encode(text[3:], s.trace[:])
	text[35] = '-'
	hex.Encode(text[36:], s.id[:])
	copy(text[52:], "-01")
	return string(text[:])
}

// readTraceparent reads one traceparent; anything that is not one is none. State and baggage that come with it are left
// alone: nothing here needs them, and nobody vouches for them.
func readTraceparent(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}

// Arrive begins the span of a request whose Record has its time and method so far. Its trace is the client's where that is
// to be joined.
func (t *Traces) Arrive(r *Record, header http.Header) {
	if t == nil {
		return
	}
	var joined trace.SpanContext
	if given := header["Traceparent"]; len(given) == 1 {
		r.client = readTraceparent(given[0])
	}
	if t.config.Join && r.client.IsValid() {
		joined = r.client
		r.TraceID = joined.TraceID().String()
	}
	if t.sampler.records(joined) {
		r.Span = t.begin(joined.TraceID())
		r.TraceID = r.Span.trace.String()
	}
}
