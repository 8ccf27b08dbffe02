package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/meter"
)

// SpanInfo describes an exchange with the service.
type SpanInfo struct {
	Operation  string // one of the Operation constants
	Name       string // the span's, for exchanges without an operation
	Model      string // as the request named it
	Label      string // the model in metrics, from a closed set
	Team       string
	Account    string   // at the service; empty: there is only one
	Address    *url.URL // the account's base address; nil: the service's
	Task       string   // the task that is queried
	Stream     bool
	Parent     Span   // the request's span; zero: no request, or it is not recorded
	Root       bool   // no request caused the exchange, so it may begin a trace
	Creation   string // traceparent of a task's creation, to link to; empty: none
	Parameters *Parameters
	Secrets    Secrets // covers secrets in the service's texts; nil: there are none
}

// Parameters are a request's parameters for the model. Zero and nil mean that the request does not set them.
type Parameters struct {
	MaxTokens, TopK, Seed       Optional[int64]
	Temperature, TopP, Presence Optional[float64]
	Choices                     int
	Stop                        []string
	Output                      string // text, json, image
	Body                        []byte // the request's body, read at the end of the exchange; nil: the span shows none
}

// Optional is a number that a request may set.
type Optional[T any] struct {
	Value T
	Set   bool // the request sets it
}

// Secrets covers texts that must not leave the process.
type Secrets interface {
	// Cover MUST return the text with every secret replaced.
	Cover(text string) string
}

// Exchange is one call of the service, redials included. It makes a CLIENT span and records the metrics of models. The zero value
// does nothing until Begin. Only one goroutine at a time may use it.
type Exchange struct {
	info    SpanInfo
	traces  *Traces
	metrics *Metrics
	span    Span
	begun   time.Time
	first   time.Duration // until the first bytes of a stream; 0: none yet
	last    time.Time     // when the last bytes arrived
	chunks  *point        // times between the chunks of a stream
	content content
	open    bool
}

// Begin begins the exchange. Both traces and metrics may be nil. It drops the Body of the parameters if the span will not show it,
// so that the caller need not keep it.
func (x *Exchange) Begin(t *Traces, m *Metrics, info SpanInfo, at time.Time) {
	*x = Exchange{info: info, traces: t, metrics: m, begun: at, open: true}
	if t == nil || !info.Root && !info.Parent.Recording() {
		return // the request is not recorded
	}
	x.span = t.begin(info.Parent.parent(), x.spanName(), at, trace.SpanKindClient, readTraceparent(info.Creation))
	if !x.span.Recording() {
		return
	}
	x.content.on = t.config.Capture
	if p := info.Parameters; p != nil && (!x.content.on || len(p.Body) > longestCaptured) {
		p.Body = nil
	}
}

// SentTraceparent is the traceparent to send to the service; empty: none.
func (x *Exchange) SentTraceparent() string {
	if x.traces == nil || !x.traces.config.SendUpstream {
		return ""
	}
	return x.span.Traceparent()
}

// OwnTraceparent is the traceparent of the exchange's span, also after its end; empty if it is not recorded.
func (x *Exchange) OwnTraceparent() string { return x.span.Traceparent() }

// Arrived takes the next chunk of the answer's body. For a stream it measures the time since the previous one.
func (x *Exchange) Arrived(p []byte, at time.Time) {
	if x.content.on {
		x.content.keep(p)
	}
	if !x.info.Stream || x.metrics == nil || x.info.Operation == OperationNone {
		return
	}
	if x.first == 0 {
		x.first, x.last = max(at.Sub(x.begun), 1), at
		points := x.metrics.calls.get(callKey{x.info.Operation, x.info.Label, x.info.Team, ""})
		points.first.record(x.first.Seconds())
		x.chunks = points.each
		return
	}
	x.chunks.record(at.Sub(x.last).Seconds())
	x.last = at
}

// Result is how an exchange ended.
type Result struct {
	Status  int            // the service's; 0: it did not answer
	Fault   string         // the refusal's name if no usable answer arrived; else empty
	Reading *meter.Reading // of the answer; nil: it was not read
}

// failure is error.type, from a closed set. A stream may begin well and then report an error.
func (r *Result) failure() string {
	if text := failure(r.Fault, r.Status); text != "" || !r.Reading.Failed {
		return text
	}
	return failure("", max(r.Reading.ErrorStatus, 400))
}

// End ends the exchange. Only the first call counts.
func (x *Exchange) End(result Result, at time.Time) {
	if !x.open {
		return
	}
	x.open = false
	if result.Reading == nil {
		result.Reading = new(meter.Reading)
	}
	x.measure(&result, at)
	if !x.span.Recording() {
		return
	}
	a := make(attributes, 0, 24)
	writeExchange(&a, x, &result)
	x.span.of.SetAttributes(a...)
	if text := result.failure(); text != "" {
		x.span.fail(text)
	}
	x.span.of.End(trace.WithTimestamp(at))
}

// measure records the metrics. The usage in the answer to a task query is measured when the task is settled.
func (x *Exchange) measure(result *Result, at time.Time) {
	m, info := x.metrics, &x.info
	if m == nil || info.Operation == OperationNone {
		return
	}
	points := m.calls.get(callKey{info.Operation, info.Label, info.Team, result.failure()})
	points.duration.record(at.Sub(x.begun).Seconds())
	if info.Operation == OperationFetch {
		return
	}
	if n, ok := result.Reading.Usage.Get(meter.InputTokens); ok {
		points.input.record(float64(n))
	}
	if n, ok := result.Reading.Usage.Get(meter.OutputTokens); ok {
		points.output.record(float64(n))
	}
}

// NewID returns a UUID of version 7 in lower case: the time in milliseconds, which gives the age of a hold, and 74 random
// bits. Ids must be unique but not secret, so the runtime's generator (ChaCha8, seeded by the system) suffices.
func NewID(ms int64) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|rand.Uint64()&0x0fff|0x7000)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	var s [36]byte
	hex.Encode(s[0:8], id[0:4])
	hex.Encode(s[9:13], id[4:6])
	hex.Encode(s[14:18], id[6:8])
	hex.Encode(s[19:23], id[8:10])
	hex.Encode(s[24:36], id[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
