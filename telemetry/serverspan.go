package telemetry

import (
	"net/http"
	"strings"
)

// Leave ends the span of a request, with what its Record has.
func (t *Traces) Leave(r *Record) {
	if t == nil || !r.Span.Recording() {
		return
	}
	h := head{
		span: r.Span, kind: kindServer, name: serverName(r), begun: r.Time, ended: r.Time.Add(r.Duration),
		fault: r.Status >= http.StatusInternalServerError, why: r.Refusal,
	}
	if r.client.trace == r.Span.trace {
		h.parent, h.remote = r.client.Span, true
	} else {
		h.link = r.client
	}
	if w := t.end(&h); w != nil {
		w.request(r)
		t.send(w)
	}
}

func serverName(r *Record) string {
	if r.Route == "" {
		return methodLabel(r.Method)
	}
	return methodLabel(r.Method) + " " + r.Route
}

func (w *spanWriter) request(r *Record) {
	w.text(httpMethod, methodLabel(r.Method))
	w.text(httpRoute, r.Route)
	w.text(urlScheme, r.Scheme)
	w.known(httpStatus, int64(r.Status))
	if r.Status >= http.StatusInternalServerError {
		w.text(errorType, failure(r.Refusal, r.Status))
	}
	w.text(ownRequest, r.ID)
	w.text(ownUpstreamID, r.UpstreamID)
	w.text(ownTeam, r.Team)
	w.text(ownKey, r.Key)
	w.text(ownEndpoint, r.Endpoint)
	w.text(ownKind, r.Kind)
	w.text(genModel, r.Model)
	w.text(ownTask, r.Task)
	w.text(ownCache, r.Cache)
	if stage, reason, refused := strings.Cut(r.Refusal, "/"); refused {
		w.text(ownStage, stage)
		w.text(ownReason, reason)
	}
	w.float(ownOverheadTime, r.Overhead.Seconds())
	w.known(ownHeldImages, r.Held.Images)
	if c := &r.Cost; c.Known {
		w.number(ownCostRequests, c.Requests)
		w.number(ownCostTokens, c.Tokens)
		w.number(ownCostImages, c.Images)
		w.float(ownCostSpend, float64(c.Spend)/1e9)
		w.text(ownCostFlag, c.Flag)
	}
}
