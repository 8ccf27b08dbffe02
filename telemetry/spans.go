package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// Begin begins the span of a request whose Record has its time and method. If Config.Join is set, the span joins the client's trace,
// else it links to it.
func (t *Traces) Begin(r *Record, header http.Header) {
	if t == nil {
		return
	}
	if given := header["Traceparent"]; len(given) == 1 {
		r.client = readTraceparent(given[0])
	}
	if t.config.Join && r.client.IsValid() {
		r.TraceID = r.client.TraceID().String()
		r.Span = t.begin(trace.ContextWithRemoteSpanContext(context.Background(), r.client), serverName(r), r.Time, trace.SpanKindServer)
	} else {
		r.Span = t.begin(context.Background(), serverName(r), r.Time, trace.SpanKindServer, r.client)
	}
	if r.Span.Recording() {
		r.TraceID = r.Span.of.SpanContext().TraceID().String()
	}
}

// End sets the span's attributes from the Record and ends it.
func (t *Traces) End(r *Record) {
	if t == nil || !r.Span.Recording() {
		return
	}
	span := r.Span.of
	span.SetName(serverName(r)) // the route was not known before
	a := make(attributes, 0, 24)
	writeRequest(&a, r)
	span.SetAttributes(a...)
	if r.Status >= http.StatusInternalServerError {
		r.Span.fail(r.Refusal)
	}
	span.End(trace.WithTimestamp(r.Time.Add(r.Duration)))
}

func serverName(r *Record) string {
	if r.Route == "" {
		return methodLabel(r.Method)
	}
	return methodLabel(r.Method) + " " + r.Route
}

func writeRequest(s *attributes, r *Record) {
	s.text(httpMethod, methodLabel(r.Method))
	s.text(httpRoute, r.Route)
	s.text(urlScheme, r.Scheme)
	s.known(httpStatus, int64(r.Status))
	if r.Status >= http.StatusInternalServerError {
		s.text(errorType, failure(r.Refusal, r.Status))
	}
	s.text(ownRequest, r.ID)
	s.text(ownUpstreamID, r.UpstreamID)
	s.text(ownTeam, r.Team)
	s.text(ownKey, r.Key)
	s.text(ownTags, r.Tags)
	s.text(ownEndpoint, r.Endpoint)
	s.text(ownKind, r.Kind)
	s.text(genModel, r.Model)
	s.text(ownTask, r.Task)
	s.text(ownCache, r.Cache)
	if stage, reason, refused := strings.Cut(r.Refusal, "/"); refused {
		s.text(ownStage, stage)
		s.text(ownReason, reason)
	}
	s.float(ownOverheadTime, r.Overhead.Seconds())
	s.known(ownHeldImages, r.Held.Amounts[unit.Images])
	if c := &r.Cost; c.Known {
		for i := range unit.Table {
			if u := &unit.Table[i]; u.Money {
				s.float(ownCosts[i], c.Money.InWhole(u.Name, c.Amounts[i]))
			} else {
				s.int(ownCosts[i], c.Amounts[i])
			}
		}
		s.text(ownCostFlag, c.Flag)
	}
}

func (x *Exchange) spanName() string {
	if x.info.Operation == OperationNone {
		return x.info.Name
	}
	return x.info.Operation + " " + valid(shorten(x.info.Model))
}

func writeExchange(s *attributes, x *Exchange, result *Result) {
	info, reading := &x.info, result.Reading
	if info.Operation != OperationNone {
		s.text(genOperation, info.Operation)
		s.text(genProvider, x.traces.config.Provider)
		s.text(genModel, info.Model)
	}
	host, port := x.traces.host, x.traces.port
	if info.Address != nil {
		host, port = serverOf(info.Address)
	}
	s.text(serverHost, host)
	s.known(serverPort, port)
	s.known(httpStatus, int64(result.Status))
	if reading.Failed && reading.ErrorCode != "" { // the service's own code: a span's attributes need not be from a closed set
		s.text(errorType, covered(reading.ErrorCode, info.Secrets))
	} else {
		s.text(errorType, result.failure())
	}
	s.text(ownTeam, info.Team)
	s.text(ownAccount, info.Account)
	if info.Stream {
		s.isTrue(genStream)
	}
	if x.first > 0 {
		s.float(genFirst, x.first.Seconds())
	}
	writeParameters(s, info.Parameters)
	switch {
	case info.Operation != OperationFetch:
		s.text(genResponseID, covered(reading.ResponseID, info.Secrets))
		writeReading(s, reading, info.Secrets)
	case x.traces.latest:
		s.text(genResponseID, info.Task)
	}
	if x.content.on {
		writeContent(s, &x.content, info)
	}
}

// covered covers secrets in a text from the service. It must precede cutting the text, or a part of a secret could remain.
func covered(value string, secrets Secrets) string {
	if secrets == nil {
		return value
	}
	return secrets.Cover(value)
}

func writeParameters(s *attributes, p *Parameters) {
	if p == nil {
		return
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Optional[int64]
	}{{genMaxTokens, &p.MaxTokens}, {genTopK, &p.TopK}, {genSeed, &p.Seed}} {
		if n.value.Set {
			s.int(n.key, n.value.Value)
		}
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Optional[float64]
	}{{genTemperature, &p.Temperature}, {genTopP, &p.TopP}, {genPresence, &p.Presence}} {
		if n.value.Set {
			s.float(n.key, n.value.Value)
		}
	}
	if p.Choices > 1 {
		s.int(genChoices, int64(p.Choices))
	}
	if len(p.Stop) > 0 {
		s.texts(genStop, p.Stop)
	}
	s.text(genOutput, p.Output)
}

func writeReading(s *attributes, r *meter.Reading, secrets Secrets) {
	if len(r.FinishReasons) > 0 {
		reasons := make([]string, 0, 4)
		for _, reason := range r.FinishReasons {
			reasons = append(reasons, covered(reason, secrets))
		}
		s.texts(genReasons, reasons)
	}
	for _, n := range [...]struct {
		key   attribute.Key
		field meter.Field
	}{
		{genInput, meter.InputTokens},
		{genOutputs, meter.OutputTokens},
		{genCached, meter.CachedTokens},
		{genCaching, meter.CacheCreationTokens},
		{genReasoning, meter.ReasoningTokens},
	} {
		if value, ok := r.Usage.Get(n.field); ok {
			s.int(n.key, value)
		}
	}
	if images, ok := r.Images(); ok {
		s.int(ownUsageImages, images)
	}
}
