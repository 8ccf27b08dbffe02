package gateway

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/feed"
	"sluice/gateway/oidc"
	"sluice/gateway/quotas"
	"sluice/gateway/stores"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/forms"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// Values of Config.Workspace and Config.DataInspection that are not sent themselves.
const (
	HeaderStrip   = "strip"   // the client's header is dropped; the default
	HeaderForward = "forward" // the client's header is sent to the service unchanged
)

// Config has the operator's settings for the public listener. Every field is required unless it says otherwise. cmd/sluice
// has the defaults and checks the values.
type Config struct {
	UpstreamURL *url.URL // the service's base address, ending in the version prefix /api/v1; an account may have another

	HeaderPrefix   string       // the service's header word with its dashes, "X-Service-"
	Workspace      string       // HeaderStrip, HeaderForward, or the value to send in <prefix>WorkSpace
	DataInspection string       // HeaderStrip, HeaderForward, or the value to send in <prefix>DataInspection
	EmbeddingsPath string       // the service's path for embeddings; empty: they are not served
	Embeddings     forms.Bounds // of embeddings requests
	ForwardPaths   []forms.Path // extra path prefixes to forward, with the forms of their bodies; may be empty

	TrustedProxies []netip.Prefix // networks whose X-Forwarded-For is trusted, for the log; may be empty
	CORSOrigins    []string       // origins whose pages may call from a browser, as browsers write them; empty: none

	ResultHosts    []upstream.Host // hosts from which pictures may be fetched for clients that want them in the answer; empty: none
	ResultNetworks []netip.Prefix  // further networks that these hosts may be in; may be empty

	MaxBody    int64 // bytes of one request's body
	BodyBudget int64 // bytes of all request bodies in memory; one team has at most half

	Tunnel         *upstream.Tunnel // the proxy to the service and to pictures; nil: none, and the system's root certificates
	ConnectTimeout time.Duration    // to connect to the service, TLS included
	HeaderTimeout  time.Duration    // from the request's last byte to the answer's header
	IdleTimeout    time.Duration    // silence inside an answer, and while the service takes a request
	WriteTimeout   time.Duration    // one write to a client that does not read

	Fleet        *limit.Fleet   // divides the limits on requests in flight among the replicas
	PollInterval time.Duration  // the least time between two queries about one running task
	TaskTTL      time.Duration  // how long the service knows a task
	TaskZone     *time.Location // of the times inside task answers

	Families policy.Families // the model patterns that kinds and rules depend on
	Rules    policy.Modes    // the modes by rule id, which a team's own modes override; may be nil

	OpenAI      bool          // also serve the dialects of clients: OpenAI's and Anthropic's
	KnownModels bool          // these dialects serve only models that the teams file names
	Provider    string        // owner of the models in their lists
	ImageWait   time.Duration // how long a request for images waits for its task

	maxUnsettled int            // as in [tasks.Config]; tests set it
	luck         func() float64 // as in [accounts.Config]; tests set it
}

// Deps are the parts that a Gateway uses. All are required unless they say otherwise.
type Deps struct {
	Now              func() time.Time   // the clock for times and durations; time.Now outside tests
	Teams            *teams.File        // the teams to start with; Set replaces them
	Upstream         accounts.Set       // the accounts at the service to start with, and their keys; Set replaces them
	Cooling          accounts.Shared    // the throttled accounts that the replicas know of; nil: not shared
	Claims           tasks.Claims       // the teams' tasks
	To               event.Routes       // where the ends of tasks are announced; nil: nowhere
	Result           tasks.Result       // answers with stored pictures; nil: none are stored
	Outbox           quotas.Outbox      // takes the events of quotas; nil: none are written
	Feed             *feed.Feed         // streams of events; nil: none is opened
	Queries, Cancels tasks.Rate         // the rates of task queries, and of cancels, of the accounts
	Outcomes         stores.Outcomes    // of creations with an Idempotency-Key
	Identities       Identities         // verifies tokens in place of keys; nil: tokens are refused
	Balances         stores.Balances    // what teams may still spend
	Remote           *Remote            // how to use the stores; nil: they are in this process's memory
	Metrics          *telemetry.Metrics // nil: no metrics
	Traces           *telemetry.Traces  // nil: no spans
	// takes the finished Record of every request, which is valid during the call; must not block
	Record func(record *telemetry.Record)
	// takes each task whose end this process reports, with its model's name in metrics; may be nil
	TaskEnded     func(label string, task *telemetry.Task)
	KeyAccepted   func(ctx context.Context) // called first for each request whose key or token is valid, with its context; may be nil
	UnheldReached func()                    // called when a refused request for pictures cannot be noted, see [MostUnheld]; may be nil
	Logger        *slog.Logger              // for what happens outside requests, and for the inside of errors
}

// Identities verifies tokens that replace keys. Package oidc implements it.
type Identities interface {
	// Follow MUST replace the issuers by those of another teams file.
	Follow(issuers []*teams.Issuer)
	// Identify MUST return the workload that a token names, or why it is refused; the error MUST NOT contain a part of the token.
	// It may wait some seconds for an issuer, and MUST return how long it waited, also with an error.
	Identify(ctx context.Context, token string) (oidc.Workload, error)
}

// Remote configures the use of stores outside this process, such as Redis.
type Remote struct {
	// Calls is how many calls of the stores may run at once for one team, at least 2; more wait. As many again, which all teams
	// share, are for admissions.
	Calls int
	Sight stores.Sight // of Deps.Claims
	// Crowded is called when a poll of a task that is not the team's is refused because the team has Calls calls under way.
	Crowded func()
}

// takeTurns makes calls of the stores wait until their team may make one.
func (d *Deps) takeTurns() {
	calls := stores.NewCalls(d.Remote.Calls)
	d.Claims = calls.Claims(d.Claims, d.Remote.Sight, d.Remote.Crowded)
	d.Queries, d.Cancels = calls.Rate(d.Queries), calls.Rate(d.Cancels)
	d.Outcomes, d.Balances = calls.Outcomes(d.Outcomes), calls.Balances(d.Balances)
}

// live holds the parts that may change while the gateway runs.
type live struct {
	now      atomic.Pointer[inForce]
	pool     *accounts.Pool // the accounts at the service
	draining atomic.Bool    // every answer ends its connection
	stopping atomic.Bool    // new requests are refused
}

// inForce is one version of the teams file and the accounts file. A request keeps the version that authenticated it, unless it waits
// in the queue and check replaces the version.
type inForce struct {
	teams    *teams.File
	accounts *accounts.Snapshot
}

func (l *live) teams() *teams.File { return l.now.Load().teams }

// label is the name of a model in metrics.
func (l *live) label(model string) string { return l.teams().Label(model) }

// money is the unit of amounts of money.
func (l *live) money() unit.Money { return l.teams().Money }

// mirrored returns the function that reports whether pictures of a team's tasks are stored.
func (l *live) mirrored(of tasks.Result) func(team string) bool {
	return func(team string) bool {
		t := l.teams().Team(team)
		return of != nil && t != nil && t.Mirror > 0
	}
}
