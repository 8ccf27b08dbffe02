package telemetry

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Leave ends the span of a request, with what its Record has.
func (t *Traces) Leave(r *Record) {
	if t == nil || r.Span.span == nil {
		return
	}
	span := r.Span.span
	if span.IsRecording() {
		span.SetAttributes(serverAttributes(r)...)
		if r.Status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, r.Refusal)
		}
	}
	span.End(trace.WithTimestamp(r.Time.Add(r.Duration)))
}

func serverAttributes(r *Record) set {
	s := make(set, 0, 28)
	s.text(httpMethod, methodLabel(r.Method))
	s.text(httpRoute, r.Route)
	s.text(urlScheme, r.Scheme)
	s.number(httpStatus, int64(r.Status))
	if r.Status >= http.StatusInternalServerError {
		s.text(errorType, failure(r.Refusal, r.Status))
	}
	s.text(ownRequest, r.ID)
	s.text(ownUpstreamID, r.UpstreamID)
	s.text(ownTeam, r.Team)
	s.text(ownKey, r.Key)
	s.text(ownEndpoint, r.Endpoint)
	s.text(ownKind, r.Kind)
	s.text(genModel, r.Model)
	s.text(ownTask, r.Task)
	s.text(ownCache, r.Cache)
	if stage, reason, refused := strings.Cut(r.Refusal, "/"); refused {
		s.text(ownStage, stage)
		s.text(ownReason, reason)
	}
	s = append(s, ownOverheadTime.Float64(r.Overhead.Seconds()))
	s.number(ownHeldImages, r.Held.Images)
	if c := &r.Cost; c.Known {
		s = append(s, ownCostRequests.Int64(c.Requests), ownCostTokens.Int64(c.Tokens), ownCostImages.Int64(c.Images), ownCostSpend.Float64(float64(c.Spend)/1e9))
		s.text(ownCostFlag, c.Flag)
	}
	return s
}
