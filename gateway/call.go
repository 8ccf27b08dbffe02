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

// call is what one request knows of itself on its way through the stages. observe makes it, the stages fill it, and
// its Record is written when the request ends.
type call struct {
	telemetry.Record
	match

	team    *teams.Team
	teams   *teams.File // the reading of the teams file that team is of
	header  http.Header // the client's, as they came
	query   string      // the client's, for forwarded paths only
	method  string
	gateway *Gateway
	body    []byte // the whole body, once inspect has read it

	client  context.Context // ends when the client has left
	start   time.Time
	waited  time.Duration // the part of the time so far that was the client's connection's, or another exchange's
	ended   bool          // nothing more will come of the client's body
	taken   share         // what the body holds of the memory budget
	failure error         // what the proxy's error handler was told

	size        limit.Amounts // what the request may cost
	inputTokens int64         // the estimate of its input's tokens, a part of size
	guessed     bool          // the kind is a guess, and size holds images and text: the answer tells which it was
	price       teams.Price   // of its model, at admission
	held        *limit.Held   // nil until admit holds the cost
	creates     bool          // a success is a task, which is claimed before the answer leaves
	claimed     bool          // a task was claimed: its end settles the hold
	odd         bool          // the task that was made has an id that cannot be polled, or that another team has claimed
	unknown     bool          // whether upstream did the work is unknown
	reading     meter.Reading
	exchange    upstream.Exchange     // with the service
	clientSpan  telemetry.Exchange    // what is told of it
	meter       *meter.Meter          // reads its answer along; nil where no usage is looked for
	fault       string                // name of the refusal where its answer broke or cannot be used; else empty
	leased      atomic.Int64          // when the hold was last given a lease, or first looked at, in ns; 0: not yet
	heard       time.Time             // when a creation's answer had come whole, and its exchange is to end; zero: not so
	parameters  *telemetry.Parameters // what the exchange's span tells; nil where nobody sees it
	stream      bool                  // a stream was asked for
	alone       bool                  // no request of a client asks: the finisher does
	creation    string                // traceparent of the creation of the task that the call asks about
	slot        *slot                 // of the team's concurrent requests; nil: none taken
}

// callKey is the context key of a request. The ReverseProxy hands its hooks nothing but the request.
type callKey struct{}

func (c *call) attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// away is the part of the time so far that was upstream's or the client's connection's.
func (c *call) away() time.Duration { return c.waited + c.exchange.Waited }
