package telemetry

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// Begin begins the span of a request whose Record has its time and method. If a client's trace is to be joined, the span is of
// that trace.
func (t *Traces) Begin(r *Record, header http.Header) {
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
		r.Span = t.newSpan(joined.TraceID())
		r.TraceID = r.Span.trace.String()
	}
}

// End ends the span of a request and writes into it what the Record has.
func (t *Traces) End(r *Record) {
	if t == nil || !r.Span.Recording() {
		return
	}
	h := otlp.Head{
		Span: r.Span.context(), Kind: trace.SpanKindServer, Name: serverName(r), Start: r.Time, End: r.Time.Add(r.Duration),
		Failed: r.Status >= http.StatusInternalServerError, Message: r.Refusal,
	}
	if r.client.TraceID() == r.Span.trace {
		h.Parent = r.client
	} else {
		h.Link = r.client
	}
	if s := t.write(&h); s != nil {
		writeRequest(s, r)
		t.queue.Put(s)
	}
}

func serverName(r *Record) string {
	if r.Route == "" {
		return methodLabel(r.Method)
	}
	return methodLabel(r.Method) + " " + r.Route
}

func writeRequest(s *otlp.Span, r *Record) {
	s.Text(httpMethod, methodLabel(r.Method))
	s.Text(httpRoute, r.Route)
	s.Text(urlScheme, r.Scheme)
	s.Known(httpStatus, int64(r.Status))
	if r.Status >= http.StatusInternalServerError {
		s.Text(errorType, failure(r.Refusal, r.Status))
	}
	s.Text(ownRequest, r.ID)
	s.Text(ownUpstreamID, r.UpstreamID)
	s.Text(ownTeam, r.Team)
	s.Text(ownKey, r.Key)
	s.Text(ownTags, r.Tags)
	s.Text(ownEndpoint, r.Endpoint)
	s.Text(ownKind, r.Kind)
	s.Text(genModel, r.Model)
	s.Text(ownTask, r.Task)
	s.Text(ownCache, r.Cache)
	if stage, reason, refused := strings.Cut(r.Refusal, "/"); refused {
		s.Text(ownStage, stage)
		s.Text(ownReason, reason)
	}
	s.Float(ownOverheadTime, r.Overhead.Seconds())
	s.Known(ownHeldImages, r.Held.Images)
	if c := &r.Cost; c.Known {
		s.Int(ownCostRequests, c.Requests)
		s.Int(ownCostTokens, c.Tokens)
		s.Int(ownCostImages, c.Images)
		s.Float(ownCostSpend, float64(c.Spend)/1e9)
		s.Text(ownCostFlag, c.Flag)
	}
}
