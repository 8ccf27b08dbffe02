package account

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Health is what a process knows of an account from the service's answers. The zero Health is a working account's.
type Health struct {
	out     outage
	cooling map[string]Pause // by model
}

// mostModels bounds the models whose pauses are remembered, because clients choose their names. Further models are
// never paused.
const mostModels = 1000

// View shows the account to a request for the model. The caller adds which account it is, and what is in flight.
func (h *Health) View(model string, now time.Time) (v View) {
	cooling, coolingProbe := h.cooling[model].at(now)
	out, outProbe := h.out.at(now)
	v.Out, v.Wait = h.out.isOut(), max(cooling, out)
	v.Probe = v.Wait == 0 && (coolingProbe || outProbe)
	return v
}

// Begin notes that a request for the model begins, and returns whether it is a probe: other requests wait for its
// outcome. [Health.End] MUST follow with the same model and time, whatever the outcome of the request. If the account
// was chosen as a probe and this request is not the probe, another request was faster, and the caller chooses again. A
// request without a model, such as a query, has the empty one.
func (h *Health) Begin(model string, now time.Time) (probe bool) {
	if !h.View(model, now).Probe {
		return false
	}
	if p := h.cooling[model]; p.mayProbe(now) {
		h.cooling[model] = p.probed(now)
	}
	if h.out.mayProbe(now) {
		h.out = h.out.probed(now)
	}
	return true
}

// End notes the outcome of a request for the model that began at a time. If it was a probe that showed nothing,
// another request may be the probe.
func (h *Health) End(model string, began, now time.Time, v Verdict) {
	p := h.cooling[model].ended(began)
	switch v.Outcome {
	case Worked:
		p = p.proven(began)
		h.out = h.out.proven(began)
	case Faulted:
		h.out = h.out.faulted(began)
	case Throttled:
		p = p.throttled(now, v.Wait, v.Why)
	case Refused:
		h.out = h.out.refused(began, now, v.Why)
	}
	h.keep(model, p, now)
}

// Drop notes that a request for the model that began at a time was not made. If it was the probe, the next request is.
func (h *Health) Drop(model string, began time.Time) {
	if p, known := h.cooling[model]; known {
		h.cooling[model] = p.ended(began)
	}
	h.out = h.out.dropped(began)
}

// Renewed notes that the account's key has changed: the next request tests it, and the outcomes of earlier requests no
// longer count.
func (h *Health) Renewed(now time.Time) { h.out = h.out.renewed(now) }

// Pause is what is known of the model, for other processes.
func (h *Health) Pause(model string) Pause { return h.cooling[model] }

// Learn notes what another process knows of the model.
func (h *Health) Learn(model string, known Pause, now time.Time) {
	h.keep(model, h.cooling[model].merged(known, now), now)
}

// keep replaces what is known of the model.
func (h *Health) keep(model string, p Pause, now time.Time) {
	_, known := h.cooling[model]
	switch {
	case p.Until.IsZero():
		delete(h.cooling, model)
		return
	case h.cooling == nil:
		h.cooling = map[string]Pause{}
	case !known && len(h.cooling) >= mostModels:
		maps.DeleteFunc(h.cooling, func(_ string, p Pause) bool { return !now.Before(p.Until) })
	}
	if known || len(h.cooling) < mostModels {
		h.cooling[model] = p
	}
}

// Standing is the account's state for operators, with its causes. The caller adds the rest.
func (h *Health) Standing(weight int, now time.Time) Standing {
	s := Standing{State: OK, Weight: weight}
	var first Pause
	for model, p := range h.cooling {
		wait, _ := p.at(now) // not 0 while others wait for a probe
		if wait == 0 {
			continue
		}
		s.Cooling = append(s.Cooling, Rest{model, now.Add(wait)})
		if first.Since.IsZero() || p.Since.Before(first.Since) {
			first = p
		}
	}
	slices.SortFunc(s.Cooling, func(a, b Rest) int { return strings.Compare(a.Model, b.Model) })
	switch {
	case h.out.isOut():
		s.State, s.Why, s.Since = Out, h.out.why, h.out.since
	case weight == 0:
		s.State = Draining
	case len(s.Cooling) > 0:
		s.State, s.Why, s.Since = Cooling, first.Why, first.Since
	}
	return s
}
