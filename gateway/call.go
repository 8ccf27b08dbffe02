package gateway

import (
	"net/http"
	"sync"

	"sluice/gateway/upstream"
)

// call is the memory of one request. A later request uses it again, so that it is not allocated and collected for each.
type call struct {
	state    requestState
	reply    reply
	exchange upstream.Exchange
	room     room
}

var calls = sync.Pool{New: func() any { return new(call) }}

// begin makes the call a request's own. It is empty: a new one, or as end leaves it.
func (c *call) begin(g *Gateway, w http.ResponseWriter, r *http.Request) (*requestState, *reply) {
	s, out := &c.state, &c.reply
	s.service, s.client, s.start = g.service, r.Context(), g.deps.Now()
	s.header, s.method, s.bodyEnded = r.Header, r.Method, !hasBody(r)
	s.exchange, s.room = &c.exchange, &c.room
	out.ResponseWriter, out.bare, out.control, out.state, out.terms = w, w, *http.NewResponseController(w), s, g.terms
	return s, out
}

// end gives the memory back, if it is certain that nothing refers to it any more: a request that was refused or cut, one that
// may have made a task, and one whose body another goroutine may still write leave theirs to the collector.
func (c *call) end() {
	s := &c.state
	if !c.reply.ended || c.reply.failed != nil || s.Refusal != "" || s.fault != "" || s.creates || s.repeats != nil || s.BytesIn > upstream.InlineBody {
		return
	}
	if c.reply.front != nil {
		c.reply.front.Release()
	}
	c.state = requestState{}
	c.reply = reply{}
	c.exchange.Reset()
	c.room.clear()
	calls.Put(c)
}
