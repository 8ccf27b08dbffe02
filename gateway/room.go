package gateway

import (
	"context"
	"net/http"
	"time"

	"sluice/policy"
)

// room is what a request and its exchange with the service need, beside their state.
type room struct {
	judged   policy.Request
	context  exchangeContext
	request  *http.Request // for the proxy
	outbound outbound      // the header of the request to the service
	answer   http.Response // that the client may see
	header   http.Header   // of that answer
	body     bounded       // of that answer
}

// prepare makes the room that a state's exchange uses. client is the context of the client's request; it may change later.
func (m *room) prepare(state any, client context.Context) {
	m.context = exchangeContext{state, client}
	m.request = (&http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(&m.context)
	m.header = make(http.Header)
}

func (m *room) clear() {
	m.context.client, m.request.Method, m.request.URL = nil, "", nil
	m.judged = policy.Request{}
	m.outbound.clear()
	clear(m.header)
	m.answer, m.body = http.Response{}, bounded{}
}

// exchangeContext is the context of a request to the service. It hands the request's state to the proxy's hooks, which get
// nothing but the request. It never ends, because the service charges for the work whether or not the client stays.
type exchangeContext struct {
	state  any
	client context.Context
}

// stateKey is the context key of the state.
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
	return x.client.Value(key)
}
