package gateway

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/gateway/accounts"
	"sluice/gateway/billing"
	"sluice/gateway/loads"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/account"
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

	service  *service
	*inForce // the versions of the teams file and the accounts file that the request uses; nil until it is authenticated

	team   *teams.Team
	header http.Header // the client's
	query  string      // the client's, for forwarded paths only
	method string
	body   []byte // the whole body; nil until it is read
	lent   []byte // the pooled buffer of the body, which finish gives back

	client context.Context // ends when the client has left
	start  time.Time
	// time that Sluice did not need itself: for the client's sending, a wait that was wanted, or another request's exchange
	waited    time.Duration
	bodyEnded bool          // no more of the client's body will arrive
	share     loads.Share   // its slot, and the team's memory that its body takes
	slotless  bool          // it has no slot yet
	tries     int           // how many holds were asked for
	patience  time.Duration // how long it waits for its turn, or for its task to change
	preferred bool          // the client set patience, with Prefer: wait
	full      error         // the refusal for lack of a slot; returned after the attempt is noted for its repetitions
	unheld    error         // the refusal for lack of memory for the body; returned after the attempt is noted
	failure   error         // why the proxy failed

	// What the request costs.

	size        limit.Amounts    // what the request may cost; once admitted, what it holds
	text        int64            // of the money in size, what the estimate of a text adds to the price of the images
	inputTokens int64            // the estimate of its input's tokens, a part of size
	guessed     bool             // the model is unknown, so size has both images and tokens; the answer shows which were used
	tag         string           // the value of the team's tag_key; empty: none
	callback    string           // where the end of its task is also announced: see [event.ReadCallback]; empty: nowhere
	ledgerKey   string           // the key's id, or "jwt:" and the subject of a token; the ledger counts by it
	limits      *teams.KeyLimits // the key's own; those of a token limit nothing
	pricing     billing.Pricing  // the prices it is charged by
	held        *limit.Held      // nil until admit holds the cost
	leased      atomic.Int64     // when the hold's lease was last extended, or first checked, in ns; 0: not yet
	repeats     *repetition      // how repetitions of a request for images are recognized; nil: only by an Idempotency-Key
	encoded     bool             // the client wants pictures as Base64, not as addresses
	creates     bool             // a success is a task, which is claimed before the answer leaves
	claimed     bool             // a task was claimed: its end settles the hold
	unclaimable bool             // the answer names a task that cannot be polled, or that another request has claimed
	unknown     bool             // whether the service did the work is unknown

	// The exchange with the service.

	attempt    accounts.Attempt // on the account that does the work, or that made the task
	way        *accounts.Way    // to that account, for the request that is sent
	path       string           // of the service, for requests about a task; empty: the route's
	retryAfter time.Duration    // the answer's Retry-After; 0: none
	verdict    account.Verdict  // what the answer says about the account
	exchange   *upstream.Exchange
	room       *room                 // more memory, for the exchange
	values     wire.Values           // of headers
	clientSpan telemetry.Exchange    // its span and metrics
	parameters *telemetry.Parameters // of its span; nil: the span is not recorded
	stream     bool                  // the client wants a stream
	pulse      func()                // sends a ping to the client of a silent stream; nil: none is sent
	finisher   bool                  // the finisher queries a task: no client waits
	creation   string                // traceparent of the creation of the queried task
	meter      *meter.Meter          // reads the usage in the answer; nil: usage is not read
	reading    meter.Reading         // its result
	fault      string                // name of the refusal if the answer broke off or cannot be used; else empty
	answered   time.Time             // when a creation's answer was whole, while its span is still open; zero: otherwise
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

// room is the larger memory that a request and its exchange with the service need.
type room struct {
	judged policy.Request
	body   upstream.Bounded // of the answer
}

// ending returns the facts that decide what the request is charged.
func (s *requestState) ending() billing.Ending {
	kind := policy.Kind(s.Kind)
	return billing.Ending{
		Reading: &s.reading, Status: s.UpstreamStatus, Reached: s.exchange.Reached, Whole: s.exchange.Whole, Clean: s.exchange.Clean,
		Forwarded: s.route.opaque() || nameless(s), Governed: s.route.reads.Governed(), Creates: s.creates, Claimed: s.claimed,
		Unclaimable: s.unclaimable,
		Embeds:      kind.IsInput(),
		// a guess is a chat that may have made images
		Text:     s.guessed || kind == policy.KindText || kind == policy.KindChat || s.route.reads.Governed(),
		Pictures: s.size[limit.Images] > 0 && !s.guessed, Held: s.size, Input: s.inputTokens,
	}
}

// unpriced reports whether the request is charged and its model has no price of what it used, although the file has prices. If it is not
// known what that is, or a task's end shows it later, only a model without any price counts.
func (s *requestState) unpriced(charged *limit.Charge) bool {
	missing := s.pricing.Price == nil
	if charged.Bill != nil {
		missing = s.pricing.Price.Missing(&charged.Amounts) != ""
	}
	return missing && !nameless(s) && len(s.teams.Prices) > 0 && s.mayHaveRun()
}

// nameless reports whether a request on a forwarded path names no model, and so needs no price.
func nameless(s *requestState) bool { return s.route.prefix && s.Model == "" }

// repetition is how a request for images and its repetitions recognize each other, with or without an Idempotency-Key. The
// clients' libraries repeat a request after their own timeout and after most errors, and send no key.
type repetition struct {
	path        string            // the client's
	body        [sha256.Size]byte // the digest of its content
	fingerprint [sha256.Size]byte // of key, path and body
	attempt     cache.Attempt     // as the library numbers it
	taken       takenName         // what Join found; nil with an Idempotency-Key, and for a refused attempt
}

// takenName is the name that an attempt has taken among those of equal requests, while it matters. The zero value has no name.
type takenName = atomic.Pointer[cache.IdempotencyName]

// retryCount is the header in which a client's library numbers its attempts: "0" for the first.
const retryCount = "X-Stainless-Retry-Count"

// mayHaveRun reports whether the service did the work, or may have. An error inside a stream has status 200.
func (s *requestState) mayHaveRun() bool {
	return s.claimed || s.unknown || s.Cost.Flag == telemetry.FlagExact || s.Cost.Flag == telemetry.FlagEstimated
}
