package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/gateway/upstream"
)

// call is the memory of one request. A later request uses it again, so that it is not allocated and collected for each.
type call struct {
	state    requestState
	reply    reply
	exchange upstream.Exchange
	room     room
}

var calls = sync.Pool{New: func() any { return newCall() }}

func newCall() *call {
	c := new(call)
	c.room.prepare(&c.state)
	return c
}

// begin makes the call a request's own.
func (c *call) begin(g *Gateway, w http.ResponseWriter, r *http.Request) (*requestState, *reply) {
	c.state = requestState{
		service: g.service, client: r.Context(), start: g.deps.Now(), header: r.Header, method: r.Method, bodyEnded: !hasBody(r),
		exchange: &c.exchange, room: &c.room,
	}
	c.reply = reply{ResponseWriter: w, control: *http.NewResponseController(w), state: &c.state, terms: g.terms}
	return &c.state, &c.reply
}

// end gives the memory back, if it is certain that nothing refers to it any more: a request that was refused or cut, one that
// may have made a task, and one whose body another goroutine may still write leave theirs to the collector.
func (c *call) end() {
	s := &c.state
	if !c.reply.ended || c.reply.failed != nil || s.Refusal != "" || s.fault != "" || s.creates || len(s.body) > upstream.InlineBody {
		return
	}
	c.state, c.reply = requestState{}, reply{}
	c.exchange.Reset()
	c.room.clear()
	calls.Put(c)
}

// room is what an exchange with the service needs: the requests that are made and the answer that the client may see.
type room struct {
	context       exchangeContext
	request       *http.Request // for the proxy
	outbound      http.Header   // of the request to the service
	authorization [1]string     // of that request
	answer        http.Response // that the client may see
	header        http.Header   // of that answer
	body          bounded       // of that answer
}

// newRoom is the room of an exchange that no client's request makes.
func newRoom(s *requestState) *room {
	m := new(room)
	m.prepare(s)
	return m
}

func (m *room) prepare(s *requestState) {
	m.context = exchangeContext{s}
	m.request = (&http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(&m.context)
	m.outbound, m.header = make(http.Header, 8), make(http.Header, 8) // room for more would be a larger kind of map, and few requests need it
}

func (m *room) clear() {
	m.request.Method, m.request.URL = "", nil
	clear(m.outbound)
	clear(m.authorization[:])
	clear(m.header)
	m.answer, m.body = http.Response{}, bounded{}
}

// exchangeContext is the context of a request to the service. It hands the request's state to the proxy's hooks, which get
// nothing but the request. It never ends, because the service charges for the work whether or not the client stays.
type exchangeContext struct{ state *requestState }

type stateKey struct{}

// Deadline implements [context.Context].
func (*exchangeContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements [context.Context].
func (*exchangeContext) Done() <-chan struct{} { return nil }

// Err implements [context.Context].
func (*exchangeContext) Err() error { return nil }

// Value implements [context.Context].
func (x *exchangeContext) Value(key any) any {
	if key == (stateKey{}) {
		return x.state
	}
	return x.state.client.Value(key)
}

func stateOf(ctx context.Context) *requestState {
	s, _ := ctx.Value(stateKey{}).(*requestState)
	return s
}
