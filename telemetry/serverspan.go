package telemetry

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Begin begins the span of a request whose Record has its time and method. If a client's trace is to be joined, the span is of
// that trace.
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

// End ends the span of a request and writes into it what the Record has.
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
	s.known(ownHeldImages, r.Held.Images)
	if c := &r.Cost; c.Known {
		s.int(ownCostRequests, c.Requests)
		s.int(ownCostTokens, c.Tokens)
		s.int(ownCostImages, c.Images)
		s.float(ownCostSpend, float64(c.Spend)/1e9)
		s.text(ownCostFlag, c.Flag)
	}
}
