package gateway

import (
	"context"
	"net/http"
	"time"
)

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

// prepare makes the room that a state's exchange uses. client is the context of the client's request; it may change later.
func (m *room) prepare(state any, client context.Context) {
	m.context = exchangeContext{state, client}
	m.request = (&http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(&m.context)
	m.outbound, m.header = make(http.Header, 8), make(http.Header, 8) // room for more would be a larger kind of map, and few requests need it
}

func (m *room) clear() {
	m.context.client, m.request.Method, m.request.URL = nil, "", nil
	clear(m.outbound)
	clear(m.authorization[:])
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
