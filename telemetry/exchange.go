package telemetry

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"sluice/telemetry/meter"
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
	case !about.Parent.Recording() && !t.sampler.records(link{}):
		return
	}
	x.span = t.begin(about.Parent.trace)
	x.content.on = t.config.Capture
}

func (x *Exchange) name() string {
	if x.about.Operation == OperationNone {
		return x.about.Name
	}
	return x.about.Operation + " " + shorten(x.about.Model, maxValue)
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
	h := head{span: x.span, parent: x.about.Parent, kind: kindClient, name: x.name(), begun: x.begun, ended: at, link: readTraceparent(x.about.Creation)}
	h.why = ended.failure()
	h.fault = h.why != ""
	if w := x.traces.end(&h); w != nil {
		w.exchange(x, &ended)
		x.traces.send(w)
	}
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
	if n, ok := ended.Reading.Usage.Get(meter.InputTokens); ok {
		of.input.record(float64(n))
	}
	if n, ok := ended.Reading.Usage.Get(meter.OutputTokens); ok {
		of.output.record(float64(n))
	}
}

func (w *spanWriter) exchange(x *Exchange, ended *Ended) {
	about, config := &x.about, &x.traces.config
	if about.Operation != OperationNone {
		w.text(genOperation, about.Operation)
		w.text(genProvider, config.Provider)
		w.text(genModel, about.Model)
	}
	w.text(serverHost, x.traces.host)
	w.known(serverPort, x.traces.port)
	w.known(httpStatus, int64(ended.Status))
	if ended.Reading.Failed && ended.Reading.ErrorCode != "" { // the service's own word: a span is no series, and may tell it
		w.text(errorType, covered(ended.Reading.ErrorCode, about.Secrets))
	} else {
		w.text(errorType, ended.failure())
	}
	w.text(ownTeam, about.Team)
	if about.Stream {
		w.yes(genStream)
	}
	if x.first > 0 {
		w.float(genFirst, x.first.Seconds())
	}
	w.parameters(about.Parameters)
	if about.Operation == OperationFetch && x.traces.latest {
		w.text(genResponseID, about.Task)
	}
	if about.Operation != OperationFetch {
		w.text(genResponseID, covered(ended.Reading.ResponseID, about.Secrets))
		w.reading(ended.Reading, about.Secrets)
	}
	if x.content.on {
		w.captured(&x.content, about)
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

func (w *spanWriter) parameters(p *Parameters) {
	if p == nil {
		return
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Said[int64]
	}{{genMaxTokens, &p.MaxTokens}, {genTopK, &p.TopK}, {genSeed, &p.Seed}} {
		if n.value.Set {
			w.number(n.key, n.value.Value)
		}
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Said[float64]
	}{{genTemperature, &p.Temperature}, {genTopP, &p.TopP}, {genPresence, &p.Presence}} {
		if n.value.Set {
			w.float(n.key, n.value.Value)
		}
	}
	if p.Choices > 1 {
		w.number(genChoices, int64(p.Choices))
	}
	if len(p.Stop) > 0 {
		w.texts(genStop, p.Stop, nil)
	}
	w.text(genOutput, p.Output)
}

func (w *spanWriter) reading(r *meter.Reading, secrets Secrets) {
	if len(r.FinishReasons) > 0 {
		w.texts(genReasons, r.FinishReasons, secrets)
	}
	for _, n := range [...]struct {
		key   attribute.Key
		field meter.Field
	}{{genInput, meter.InputTokens}, {genOutputs, meter.OutputTokens}, {genCached, meter.CachedTokens}, {genCaching, meter.CacheCreationTokens}, {genReasoning, meter.ReasoningTokens}} {
		if value, ok := r.Usage.Get(n.field); ok {
			w.number(n.key, value)
		}
	}
	if images, ok := r.Images(); ok {
		w.number(ownUsageImages, images)
	}
}
