package gateway

import (
	"net/netip"
	"net/url"
	"time"

	"sluice/gateway/fetch"
	"sluice/gateway/upstream"
	"sluice/policy"
)

// Settings for Config.Workspace and Config.DataInspection, beside a value to send.
const (
	HeaderStrip   = "strip"   // the client's header is dropped; the default
	HeaderForward = "forward" // the client's header goes to the service as it came
)

// Config has the operator's settings for the public listener. Every field is required unless it says otherwise. cmd/sluice
// has the defaults and checks the values.
type Config struct {
	UpstreamURL *url.URL // the service's base address, ending in the version prefix /api/v1

	HeaderPrefix   string   // the service's header word with its dashes, "X-Service-"
	Workspace      string   // HeaderStrip, HeaderForward, or the value to send in <prefix>WorkSpace
	DataInspection string   // HeaderStrip, HeaderForward, or the value to send in <prefix>DataInspection
	ForwardPaths   []string // extra path prefixes to forward, relative to the version prefix, no slash at either end; may be empty

	TrustedProxies []netip.Prefix // networks whose X-Forwarded-For is trusted, for the log; may be empty
	CORSOrigins    []string       // origins whose pages may call from a browser, as browsers write them; empty: none

	ResultHosts    []fetch.Host   // hosts from which pictures may be fetched for clients that want them in the answer; empty: none
	ResultNetworks []netip.Prefix // further networks that these hosts may be in; may be empty

	MaxBody    int64 // bytes of one request's body
	BodyBudget int64 // bytes of all request bodies in memory; one team has at most half

	ConnectTimeout time.Duration // to connect to the service, TLS included
	HeaderTimeout  time.Duration // from the request's last byte to the answer's header
	IdleTimeout    time.Duration // silence inside an answer, and while the service takes a request
	WriteTimeout   time.Duration // one write to a client that does not read

	Replicas int // processes that share a team's concurrent requests; at least 1

	PollInterval time.Duration // the least time between two queries about one running task

	TaskTTL  time.Duration  // how long the service knows a task
	TaskZone *time.Location // of the times inside task answers

	Families policy.Families // the model patterns that kinds and rules hang on
	Rules    policy.Modes    // the modes by rule id, which a team's own modes override; may be nil

	OpenAI    bool          // OpenAI's interface is served, too
	Provider  string        // owner of the models that it lists
	ImageWait time.Duration // how long its clients wait for a task
}

// Secret is a string that must not be shown; see [upstream.Secret].
type Secret = upstream.Secret
