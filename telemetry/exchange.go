package telemetry

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Parameters are what a request asks a model for, as its span tells it. A nil pointer, zero and nil mean "not said".
type Parameters struct {
	MaxTokens, TopK, Seed       *int64
	Temperature, TopP, Presence *float64
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
	Redact     func([]byte) // covers, in place, what of the service's words nobody may read; nil: nothing
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
	parent := context.Background()
	switch {
	case t == nil, !about.Alone && about.Parent.span == nil:
		return // its request is not recorded
	case about.Parent.span != nil:
		parent = trace.ContextWithSpan(parent, about.Parent.span)
	case !t.sampler.records(trace.SpanContext{}):
		return
	}
	options := make([]trace.SpanStartOption, 0, 3)
	options = append(options, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at))
	if creation := readTraceparent(about.Creation); about.Creation != "" && creation.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: creation}))
	}
	_, span := t.tracer.Start(parent, x.name(), options...) //nolint:spancheck // End ends it
	x.span = Span{span}
	x.content.on = t.config.Capture && x.span.Recording()
}

func (x *Exchange) name() string {
	if x.about.Operation == OperationNone {
		return x.about.Name
	}
	model := x.about.Model
	if len(model) > maxValue {
		model = shorten(model, maxValue)
	}
	return x.about.Operation + " " + model
}

// Traceparent is what is sent to the service, "" where nothing is.
func (x *Exchange) Traceparent() string {
	if x.traces == nil || !x.traces.config.SendUpstream {
		return ""
	}
	return x.span.Traceparent()
}

// Recorded is the exchange's span as a traceparent; "" where none is recorded.
func (x *Exchange) Recorded() string {
	if !x.span.context().IsSampled() { // it may have ended
		return ""
	}
	return x.span.Traceparent()
}

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
		points := x.metrics.callSeries.get(callKey{x.about.Operation, x.about.Label, x.about.Team, ""})
		points.first.record(x.first.Seconds())
		x.chunks = points.each
		return
	}
	x.chunks.record(at.Sub(x.last).Seconds())
	x.last = at
}

// Ended is how an exchange came out.
type Ended struct {
	Status  int      // upstream's; 0: it did not answer
	Fault   string   // a refusal's name, where the answer did not come or could not be used; else ""
	Reading *Reading // of the answer; nil: it was not read
}

// End ends the exchange. Only the first call counts.
func (x *Exchange) End(ended Ended, at time.Time) {
	if !x.open {
		return
	}
	x.open = false
	if ended.Reading == nil {
		ended.Reading = new(Reading)
	}
	x.measure(&ended, at)
	if x.span.span == nil {
		return
	}
	if x.span.Recording() {
		x.span.span.SetAttributes(x.attributes(&ended)...)
		if fault := ended.failure(); fault != "" {
			x.span.span.SetStatus(codes.Error, fault)
		}
	}
	x.span.span.End(trace.WithTimestamp(at))
}

// measure records the metrics. What a task's query tells of usage is its creation's, which is settled elsewhere.
func (x *Exchange) measure(ended *Ended, at time.Time) {
	m, about := x.metrics, &x.about
	if m == nil || about.Operation == OperationNone {
		return
	}
	of := m.callSeries.get(callKey{about.Operation, about.Label, about.Team, ended.failure()})
	of.call.record(at.Sub(x.begun).Seconds())
	if about.Operation == OperationFetch {
		return
	}
	if n, ok := ended.Reading.Usage.Get(InputTokens); ok {
		of.input.record(float64(n))
	}
	if n, ok := ended.Reading.Usage.Get(OutputTokens); ok {
		of.output.record(float64(n))
	}
}

func (x *Exchange) attributes(ended *Ended) set {
	s, about := make(set, 0, 28), &x.about
	if about.Operation != OperationNone {
		s.text(genOperation, about.Operation)
		s.text(genProvider, x.traces.config.Provider)
		s.text(genModel, about.Model)
	}
	s.text(serverHost, x.traces.config.upstreamHost())
	s.number(serverPort, int64(x.traces.config.upstreamPort()))
	s.number(httpStatus, int64(ended.Status))
	s.text(errorType, x.errorType(ended))
	s.text(ownTeam, about.Team)
	if about.Stream {
		s = append(s, genStream.Bool(true))
	}
	if x.first > 0 {
		s = append(s, genFirst.Float64(x.first.Seconds()))
	}
	s.parameters(about.Parameters)
	if about.Operation == OperationFetch && x.traces.latest {
		s.text(genResponseID, about.Task)
	}
	if about.Operation != OperationFetch {
		s.text(genResponseID, x.redacted(ended.Reading.ResponseID))
		s.reading(ended.Reading)
	}
	if x.content.on {
		if about.Redact != nil {
			about.Redact(x.content.answer)
		}
		x.content.attributes(&s, about.Parameters)
	}
	return s
}

// errorType is the service's own code where it gave one: a span is no series, and may tell it.
func (x *Exchange) errorType(ended *Ended) string {
	if ended.Reading.Failed && ended.Reading.ErrorCode != "" {
		return x.redacted(ended.Reading.ErrorCode)
	}
	return ended.failure()
}

// failure is error.type from a closed set: a stream may begin well and then tell of an error.
func (e *Ended) failure() string {
	text := failure(e.Fault, e.Status)
	if text == "" && e.Reading.Failed {
		text = failure("", max(e.Reading.ErrorStatus, http.StatusBadRequest))
	}
	return text
}

func (x *Exchange) redacted(text string) string {
	if x.about.Redact == nil {
		return text
	}
	covered := []byte(text)
	x.about.Redact(covered)
	return string(covered)
}

func (s *set) parameters(p *Parameters) {
	if p == nil {
		return
	}
	for _, n := range []struct {
		key   attribute.Key
		value *int64
	}{{genMaxTokens, p.MaxTokens}, {genTopK, p.TopK}, {genSeed, p.Seed}} {
		if n.value != nil {
			*s = append(*s, n.key.Int64(*n.value))
		}
	}
	for _, n := range []struct {
		key   attribute.Key
		value *float64
	}{{genTemperature, p.Temperature}, {genTopP, p.TopP}, {genPresence, p.Presence}} {
		if n.value != nil {
			*s = append(*s, n.key.Float64(*n.value))
		}
	}
	if p.Choices > 1 {
		*s = append(*s, genChoices.Int(p.Choices))
	}
	if len(p.Stop) > 0 {
		*s = append(*s, genStop.StringSlice(p.Stop))
	}
	s.text(genOutput, p.Output)
}

func (s *set) reading(r *Reading) {
	if len(r.FinishReasons) > 0 {
		*s = append(*s, genReasons.StringSlice(r.FinishReasons))
	}
	for _, n := range []struct {
		key   attribute.Key
		field Field
	}{{genInput, InputTokens}, {genOutputs, OutputTokens}, {genCached, CachedTokens}, {genCaching, CacheCreationTokens}, {genReasoning, ReasoningTokens}} {
		if value, ok := r.Usage.Get(n.field); ok {
			*s = append(*s, n.key.Int64(value))
		}
	}
	if images, ok := r.Images(); ok {
		*s = append(*s, ownUsageImages.Int64(images))
	}
}
