package gateway

import (
	"net/http"

	"sluice/gateway/front"
)

// newReply makes the reply of a request. On the paths of OpenAI's interface, what it writes goes through a [front.Writer].
func (g *Gateway) newReply(w http.ResponseWriter, r *http.Request, s *requestState) *reply {
	if !g.fronts.serves(r.URL) {
		return newReply(w, s, g.terms)
	}
	s.Front = frontName
	translator := front.NewWriter(w, s.ID)
	out := newReply(translator, s, g.terms)
	out.front = translator
	return out
}

// takeBack makes room for another answer in place of one that no byte of has left. It reports false if that cannot be.
func (w *reply) takeBack() bool {
	if w.front == nil {
		return false
	}
	ok := w.front.TakeBack()
	w.wrote = w.wrote && !ok
	return ok
}

// endFront writes what the front held back, once the chain has ended. p is what the chain panicked with. If an answer was cut
// before a byte of it left, the client gets an error in its place.
func (w *reply) endFront(r *http.Request, p any) any {
	if w.front == nil {
		return p
	}
	w.extendDeadline(w.terms.now())
	if w.state.repeats != nil {
		w.front.Task, w.front.Final = w.state.Task, w.front.Final || w.state.unknown
	}
	if p == http.ErrAbortHandler && r.Context().Err() == nil && w.takeBack() {
		writeRefusal(w, w.state, lostAnswer(w.state.fault))
		p = nil
	}
	if p == nil {
		w.note(w.front.End())
	}
	if status, n := w.front.Sent(); status != 0 {
		w.state.Status, w.state.BytesOut = status, n
	}
	return p
}

// lostAnswer is the refusal for an answer that broke off. fault is the name of its refusal, if the exchange has one.
func lostAnswer(fault string) *refusal {
	if fault == refuseSilent.name {
		return refuse(refuseSilent).say("The service fell silent inside its answer.")
	}
	return refuse(refuseAnswer).say("The service's answer broke off.")
}

// final tells a client of OpenAI's interface whether a repeat of the request can only waste or pay again.
func (w *reply) final(is bool) {
	if w.front != nil {
		w.front.Final = is
	}
}
