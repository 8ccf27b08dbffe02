package gateway

import (
	"net/http"

	"sluice/gateway/openai"
)

// translate has what a reply writes go through an [openai.Writer], if the request is for a path of OpenAI's interface.
func (g *Gateway) translate(w *reply, r *http.Request) {
	if !g.fronts.serves(r.URL) {
		return
	}
	w.state.Front = frontName
	w.front = openai.NewWriter(w.ResponseWriter, w.state.ID)
	w.ResponseWriter, w.control = w.front, *http.NewResponseController(w.front)
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
	w.final(w.front.Final || w.state.unknown)
	if w.state.repeats != nil {
		w.front.Task = w.state.Task
	}
	if p == http.ErrAbortHandler && r.Context().Err() == nil && w.takeBack() {
		w.final(w.front.Final || w.state.repeats != nil && w.state.mayHaveRun())
		writeRefusal(w, w.state, lostAnswer(w.state.fault))
		p = nil
	}
	if p == nil && w.front.Lost() && w.takeBack() {
		w.final(true) // it is paid for
		writeRefusal(w, w.state, refuse(refuseAnswer).say("The service's answer is too long for the gateway's memory at the moment."))
	}
	if p == nil {
		w.note(w.front.End())
	} else {
		w.note(w.front.Cut())
	}
	status, n := w.front.Sent()
	if status == 0 {
		return http.ErrAbortHandler // else net/http would send a 200 without a body to a client that only ended its sending side
	}
	w.state.Status, w.state.BytesOut = status, n
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
