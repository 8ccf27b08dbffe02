package telemetry

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/meter"
	"sluice/telemetry/otlp"
)

// Said is a number that a request may name.
type Said[T any] struct {
	Value T
	Set   bool // the request named it
}

// Parameters are what a request asks a model for, as its span tells it. Zero and nil mean "not said".
type Parameters struct {
	MaxTokens, TopK, Seed       Said[int64]
	Temperature, TopP, Presence Said[float64]
	Choices                     int
	Stop                        []string
	Output                      string // text, json, image
	Body                        []byte // the request's body, where content is captured; read at the end of the exchange
}

// About says what an exchange with the service is for.
type About struct {
	Operation  string // one of the Operation constants
	Name       string // the span's name where there is no operation
	Model      string // as the request named it
	Label      string // the model as metrics have it, from a closed set
	Team       string
	Task       string // that a task query asks about
	Stream     bool
	Parent     Span   // the request's; zero: it is not recorded, or there is none
	Alone      bool   // no request asks: the exchange may be a trace of its own
	Creation   string // traceparent of a task's creation, which the span is linked to; "" is none
	Parameters *Parameters
	Secrets    Secrets // what of the service's words nobody may read; nil: nothing
}

// Secrets covers what nobody may read.
type Secrets interface {
	// Cover MUST return the text without it.
	Cover(text string) string
}

// Exchange is one call of the service, redials included: a CLIENT span, and what the metrics of models tell. The zero
// value is none; Begin begins it. One goroutine at a time uses it.
type Exchange struct {
	about   About
	traces  *Traces
	metrics *Metrics
	span    Span
	begun   time.Time
	first   time.Duration // until the first bytes of a stream; 0: none came yet
	last    time.Time     // when bytes came last
	chunks  *point        // between the pieces of a stream
	content content
	open    bool
}

// Begin begins the exchange. Both traces and metrics may be nil.
func (x *Exchange) Begin(t *Traces, m *Metrics, about About, at time.Time) {
	*x = Exchange{about: about, traces: t, metrics: m, begun: at, open: true}
	switch {
	case t == nil, !about.Alone && !about.Parent.Recording():
		return // its request is not recorded
	case !about.Parent.Recording() && !t.sampler.records(trace.SpanContext{}):
		return
	}
	x.span = t.begin(about.Parent.trace)
	x.content.on = t.config.Capture
}

func (x *Exchange) name() string {
	if x.about.Operation == OperationNone {
		return x.about.Name
	}
	return x.about.Operation + " " + otlp.Shorten(x.about.Model, otlp.MaxValue)
}

// Traceparent is what is sent to the service, "" where nothing is.
func (x *Exchange) Traceparent() string {
	if x.traces == nil || !x.traces.config.SendUpstream {
		return ""
	}
	return x.span.Traceparent()
}

// Recorded is the exchange's span as a traceparent, also after its end; "" where none is recorded.
func (x *Exchange) Recorded() string { return x.span.Traceparent() }

// Arrived tells that bytes of the answer's body came. Between the pieces of a stream the time is measured; pieces that
// came together are one.
func (x *Exchange) Arrived(p []byte, at time.Time) {
	if x.content.on {
		x.content.write(p)
	}
	if !x.about.Stream || x.metrics == nil || x.about.Operation == OperationNone {
		return
	}
	if x.first == 0 {
		x.first, x.last = max(at.Sub(x.begun), 1), at
		points := x.metrics.labelled.calls.get(callKey{x.about.Operation, x.about.Label, x.about.Team, ""})
		points.first.record(x.first.Seconds())
		x.chunks = points.each
		return
	}
	x.chunks.record(at.Sub(x.last).Seconds())
	x.last = at
}

// Ended is how an exchange came out.
type Ended struct {
	Status  int            // upstream's; 0: it did not answer
	Fault   string         // a refusal's name, where the answer did not come or could not be used; else ""
	Reading *meter.Reading // of the answer; nil: it was not read
}

// End ends the exchange. Only the first call counts.
func (x *Exchange) End(ended Ended, at time.Time) {
	if !x.open {
		return
	}
	x.open = false
	if ended.Reading == nil {
		ended.Reading = new(meter.Reading)
	}
	x.measure(&ended, at)
	if !x.span.Recording() {
		return
	}
	h := otlp.Head{
		Span: x.span.context(), Parent: x.about.Parent.context(), Link: readTraceparent(x.about.Creation),
		Kind: trace.SpanKindClient, Name: x.name(), Start: x.begun, End: at, Message: ended.failure(),
	}
	h.Failed = h.Message != ""
	if s := x.traces.end(&h); s != nil {
		writeExchange(s, x, &ended)
		x.traces.queue.Put(s)
	}
}

// measure records the metrics. What a task's query tells of usage is its creation's, which is settled elsewhere.
func (x *Exchange) measure(ended *Ended, at time.Time) {
	m, about := x.metrics, &x.about
	if m == nil || about.Operation == OperationNone {
		return
	}
	of := m.labelled.calls.get(callKey{about.Operation, about.Label, about.Team, ended.failure()})
	of.duration.record(at.Sub(x.begun).Seconds())
	if about.Operation == OperationFetch {
		return
	}
	if n, ok := ended.Reading.Usage.Get(meter.InputTokens); ok {
		of.input.record(float64(n))
	}
	if n, ok := ended.Reading.Usage.Get(meter.OutputTokens); ok {
		of.output.record(float64(n))
	}
}

func writeExchange(s *otlp.Span, x *Exchange, ended *Ended) {
	about, config := &x.about, &x.traces.config
	if about.Operation != OperationNone {
		s.Text(genOperation, about.Operation)
		s.Text(genProvider, config.Provider)
		s.Text(genModel, about.Model)
	}
	s.Text(serverHost, x.traces.host)
	s.Known(serverPort, x.traces.port)
	s.Known(httpStatus, int64(ended.Status))
	if ended.Reading.Failed && ended.Reading.ErrorCode != "" { // the service's own word: a span is no series, and may tell it
		s.Text(errorType, covered(ended.Reading.ErrorCode, about.Secrets))
	} else {
		s.Text(errorType, ended.failure())
	}
	s.Text(ownTeam, about.Team)
	if about.Stream {
		s.True(genStream)
	}
	if x.first > 0 {
		s.Float(genFirst, x.first.Seconds())
	}
	writeParameters(s, about.Parameters)
	if about.Operation == OperationFetch && x.traces.latest {
		s.Text(genResponseID, about.Task)
	}
	if about.Operation != OperationFetch {
		s.Text(genResponseID, covered(ended.Reading.ResponseID, about.Secrets))
		writeReading(s, ended.Reading, about.Secrets)
	}
	if x.content.on {
		writeContent(s, &x.content, about)
	}
}

// failure is error.type from a closed set: a stream may begin well and then tell of an error.
func (e *Ended) failure() string {
	text := failure(e.Fault, e.Status)
	if text == "" && e.Reading.Failed {
		text = failure("", max(e.Reading.ErrorStatus, http.StatusBadRequest))
	}
	return text
}

// covered is a text of the service's without what nobody may read in it. It is covered before it is cut, so that no part
// of a secret is left.
func covered(value string, secrets Secrets) string {
	if secrets == nil {
		return value
	}
	return secrets.Cover(value)
}

func writeParameters(s *otlp.Span, p *Parameters) {
	if p == nil {
		return
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Said[int64]
	}{{genMaxTokens, &p.MaxTokens}, {genTopK, &p.TopK}, {genSeed, &p.Seed}} {
		if n.value.Set {
			s.Int(n.key, n.value.Value)
		}
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Said[float64]
	}{{genTemperature, &p.Temperature}, {genTopP, &p.TopP}, {genPresence, &p.Presence}} {
		if n.value.Set {
			s.Float(n.key, n.value.Value)
		}
	}
	if p.Choices > 1 {
		s.Int(genChoices, int64(p.Choices))
	}
	if len(p.Stop) > 0 {
		s.Texts(genStop, p.Stop)
	}
	s.Text(genOutput, p.Output)
}

func writeReading(s *otlp.Span, r *meter.Reading, secrets Secrets) {
	if len(r.FinishReasons) > 0 {
		reasons := make([]string, 0, 4)
		for _, reason := range r.FinishReasons {
			reasons = append(reasons, covered(reason, secrets))
		}
		s.Texts(genReasons, reasons)
	}
	for _, n := range [...]struct {
		key   attribute.Key
		field meter.Field
	}{{genInput, meter.InputTokens}, {genOutputs, meter.OutputTokens}, {genCached, meter.CachedTokens}, {genCaching, meter.CacheCreationTokens}, {genReasoning, meter.ReasoningTokens}} {
		if value, ok := r.Usage.Get(n.field); ok {
			s.Int(n.key, value)
		}
	}
	if images, ok := r.Images(); ok {
		s.Int(ownUsageImages, images)
	}
}
