package gateway

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// requestState holds the facts about one request on its way through the stages. ServeHTTP makes it, the stages fill it, and
// its Record is written when the request ends.
type requestState struct {
	telemetry.Record
	match

	service *service
	team    *teams.Team
	teams   *teams.File // the teams file that team is from
	header  http.Header // the client's
	query   string      // the client's, for forwarded paths only
	method  string
	body    []byte // the whole body, once inspect has read it
	lent    []byte // the buffer with the body, which finish gives back

	client    context.Context // ends when the client has left
	start     time.Time
	waited    time.Duration // time so far that the client's connection took, or an exchange of another request
	bodyEnded bool          // no more of the client's body will come
	memory    share         // of the memory budget, for the body
	slot      *slot         // of the team's concurrent requests; nil: none taken
	full      error         // why there is no slot; it refuses the request once that is noted
	unheld    error         // why there is no memory for the body; it refuses the request once that is noted
	failure   error         // why the proxy failed

	// What the request costs.

	size        limit.Amounts // what the request may cost
	inputTokens int64         // the estimate of its input's tokens, a part of size
	guessed     bool          // the kind is a guess, and size holds images and text: the answer tells which it was
	tag         string        // the value of the team's tag_key; empty: none
	price       teams.Price   // of its model, at admission
	held        *limit.Held   // nil until admit holds the cost
	leased      atomic.Int64  // when the hold's lease was last extended, or first checked, in ns; 0: not yet
	repeats     *repetition   // how repetitions of a request for images are recognized; nil: by an Idempotency-Key alone
	encoded     bool          // the client wants pictures themselves, and not their addresses
	creates     bool          // a success is a task, which is claimed before the answer leaves
	claimed     bool          // a task was claimed: its end settles the hold
	unclaimable bool          // the answer names a task that cannot be polled, or that another team has claimed
	unknown     bool          // whether the service did the work is unknown

	// The exchange with the service.

	exchange   *upstream.Exchange
	room       *room                 // for what the exchange needs
	values     values                // of that header
	clientSpan telemetry.Exchange    // its span and metrics
	parameters *telemetry.Parameters // of its span; nil: the span is not recorded
	stream     bool                  // the client wants a stream
	finisher   bool                  // no client waits: the finisher queries a task
	creation   string                // traceparent of the creation of the task that is queried
	meter      *meter.Meter          // reads the usage in the answer; nil: usage is not read
	reading    meter.Reading         // its result
	fault      string                // name of the refusal if the answer broke off or cannot be used; else empty
	answered   time.Time             // when a creation's answer was whole; its span is then still open; zero: not so
}

// away is the time so far that was spent waiting for the service or for the client's connection.
func (s *requestState) away() time.Duration { return s.waited + s.exchange.Waited }

// stateKey is the key of a request's state in the context of its exchange.
type stateKey struct{}

// exchangeContext is the context of the request to the service. It has the client's values, and does not end.
func (s *requestState) exchangeContext() context.Context {
	return context.WithValue(upstream.WithExchange(context.WithoutCancel(s.client), s.exchange), stateKey{}, s)
}

func stateOf(ctx context.Context) *requestState {
	s, _ := ctx.Value(stateKey{}).(*requestState)
	return s
}
