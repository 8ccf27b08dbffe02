package main

import (
	"log/slog"
	"net/url"
	"time"

	"sluice/gateway"
	"sluice/policy"
)

// prefix begins the name of every variable that Sluice reads.
const prefix = "SLUICE_"

// settings is what the operator set, one field for each variable, in the order of config.example.env. A comment tells
// meaning, unit and what zero means; the tags tell the variable, its default, and what a fault says is allowed.
//
// Secrets have type [gateway.Secret] and a twin whose variable ends in _FILE.
type settings struct {
	// Listen is where teams' traffic arrives: HTTP/1.1, and HTTP/2 too with TLS.
	Listen string `env:"LISTEN" envDefault:":8080" allow:"host:port or :port, such as :8080"`
	// AdminListen is where probes and operators ask: read-only, without a token, so loopback unless a probe needs more.
	AdminListen string `env:"ADMIN_LISTEN" envDefault:"127.0.0.1:8081" allow:"host:port or :port other than SLUICE_LISTEN, such as 127.0.0.1:8081"`
	// AdminHosts are the names by which AdminListen is asked. localhost, addresses and the name in AdminListen itself are
	// always answered. Empty: no more.
	AdminHosts []hostName `env:"ADMIN_HOSTS" allow:"comma-separated host names without port, such as sluice,sluice.monitoring.svc"`
	// AdminPprof adds /debug/pprof to the admin listener. A heap profile can contain prompts and keys.
	AdminPprof bool `env:"ADMIN_PPROF" envDefault:"false" allow:"true or false"`
	// MaxConnections is how many connections clients may hold open at Listen, one address a quarter of them, a trusted proxy all. Not set:
	// as many as the limit of open files leaves room for, see [connectionsFor].
	MaxConnections int `env:"MAX_CONNECTIONS" allow:"a whole number of at least 1, such as 4096; empty for what the limit of open files leaves room for"`
	// TLSCertFile and TLSKeyFile are PEM files; both or neither. Empty: no TLS on Listen.
	TLSCertFile string `env:"TLS_CERT_FILE" allow:"a readable PEM file with the certificate chain, together with SLUICE_TLS_KEY_FILE"`
	TLSKeyFile  string `env:"TLS_KEY_FILE" allow:"a readable PEM file with the key of that certificate, together with SLUICE_TLS_CERT_FILE"`

	// TrustedProxies are networks whose X-Forwarded-For tells the client's address, for the log, and whose connections are not
	// bound by address. Empty: the peer is the client.
	TrustedProxies []network `env:"TRUSTED_PROXIES" allow:"comma-separated networks such as 10.0.0.0/8,fd00::/8, of each the address without a bit behind its length"`

	// UpstreamURL is the service's base address with its version prefix. Required.
	UpstreamURL *url.URL `env:"UPSTREAM_URL" allow:"an absolute http or https address that ends in /api/v1, without user, query or fragment; required"`
	// UpstreamKey is the Bearer key of the service's account. Required, here or as a file.
	UpstreamKey gateway.Secret `env:"UPSTREAM_KEY" allow:"the service's key in visible ASCII characters; required, here or as SLUICE_UPSTREAM_KEY_FILE"`
	// UpstreamKeyFile holds UpstreamKey instead; it is read again on every reload of the teams file.
	UpstreamKeyFile string `env:"UPSTREAM_KEY_FILE" allow:"a readable file with nothing but the service's key"`
	// HeaderPrefix is the service's word in its header names, dashes included.
	HeaderPrefix string `env:"HEADER_PREFIX" envDefault:"X-Service-" allow:"letters, digits and dashes, ending in a dash, such as X-Service-"`
	// Workspace is what goes upstream in <prefix>WorkSpace: strip, forward (the client's), or a value of its own.
	Workspace string `env:"WORKSPACE" envDefault:"strip" allow:"strip, forward, or a header value in visible ASCII characters"`
	// DataInspection is the same for <prefix>DataInspection.
	DataInspection string `env:"DATA_INSPECTION" envDefault:"strip" allow:"strip, forward, or a header value in visible ASCII characters"`
	// ForwardPaths are path prefixes, relative to the version prefix, that go through unread. Empty: none.
	ForwardPaths []forwardPath `env:"FORWARD_PATHS" allow:"comma-separated path prefixes such as uploads,services/embeddings, none of them above, at or below a path that Sluice answers itself"`

	// TeamsFile is the YAML file of teams, keys and limits.
	TeamsFile string `env:"TEAMS_FILE" envDefault:"teams.yaml" allow:"a readable YAML file, a regular one of at most 16 MiB"`
	// TeamsPoll is the time between two looks at the content of TeamsFile and of UpstreamKeyFile.
	TeamsPoll time.Duration `env:"TEAMS_POLL" envDefault:"500ms" allow:"a duration of at least 10ms, such as 500ms"`

	// RedisURL is where quotas and tasks live. Empty: in this process's memory, gone when it ends.
	RedisURL gateway.Secret `env:"REDIS_URL" allow:"redis://host, rediss://host, redis+cluster://h1,h2 or redis+sentinel://h1,h2/master/db"`
	// RedisURLFile holds RedisURL instead.
	RedisURLFile string `env:"REDIS_URL_FILE" allow:"a readable file with nothing but the address of Redis"`
	// RedisTimeout bounds one call to Redis on a request's path.
	RedisTimeout time.Duration `env:"REDIS_TIMEOUT" envDefault:"250ms" allow:"a duration above 0, such as 250ms"`
	// OnStateLoss is what admission does without Redis: go on with allowances, or refuse.
	OnStateLoss string `env:"ON_STATE_LOSS" envDefault:"local" allow:"local or refuse"`
	// OutageBridge is how long an allowance lasts: without Redis teams spend what it has set aside for this process so long.
	OutageBridge time.Duration `env:"OUTAGE_BRIDGE" envDefault:"10m" allow:"a duration between 1m and 1h, such as 10m"`
	// Replicas is how many processes share the rates.
	Replicas int `env:"REPLICAS" envDefault:"1" allow:"a whole number of at least 1"`

	// PollInterval is the least time between two upstream queries about one running task.
	PollInterval time.Duration `env:"POLL_INTERVAL" envDefault:"5s" allow:"a duration of at least 100ms, such as 5s"`
	// TaskQueryRate is how many upstream task queries a second all teams make together.
	TaskQueryRate int `env:"TASK_QUERY_RATE" envDefault:"20" allow:"a whole number of at least 1"`
	// TaskTTL is how long the service knows a task and serves its images.
	TaskTTL time.Duration `env:"TASK_TTL" envDefault:"24h" allow:"a duration above 0, such as 24h"`
	// TaskTimezone is the zone of the times inside task answers, which carry none themselves.
	TaskTimezone *time.Location `env:"TASK_TIMEZONE" envDefault:"+08:00" allow:"an offset from UTC, such as +08:00"`

	// MaxBody is the most bytes of one request's body.
	MaxBody byteSize `env:"MAX_BODY" envDefault:"64MiB" allow:"a size above 0, such as 64MiB"`
	// BodyBudget is the most bytes of all request bodies in memory at once; one team has at most half.
	BodyBudget byteSize `env:"BODY_BUDGET" envDefault:"512MiB" allow:"a size of at least twice SLUICE_MAX_BODY, such as 512MiB, because one team has at most half of it"`

	// ConnectTimeout bounds connecting to upstream, TLS included.
	ConnectTimeout time.Duration `env:"CONNECT_TIMEOUT" envDefault:"5s" allow:"a duration above 0, such as 5s"`
	// HeaderTimeout bounds the wait from a request's last byte to upstream's response header.
	HeaderTimeout time.Duration `env:"HEADER_TIMEOUT" envDefault:"300s" allow:"a duration above 0, such as 300s"`
	// IdleTimeout bounds silence inside an upstream response, and while upstream takes a request.
	IdleTimeout time.Duration `env:"IDLE_TIMEOUT" envDefault:"300s" allow:"a duration above 0, such as 300s"`
	// WriteTimeout bounds one write to a client that does not read.
	WriteTimeout time.Duration `env:"WRITE_TIMEOUT" envDefault:"30s" allow:"a duration above 0, such as 30s"`
	// ShutdownDelay is how long requests are still taken after SIGTERM, for balancers to look away. Zero: not at all.
	ShutdownDelay time.Duration `env:"SHUTDOWN_DELAY" envDefault:"5s" allow:"a duration of 0s or more, such as 5s"`
	// ShutdownGrace is how long running requests have to end after that delay.
	ShutdownGrace time.Duration `env:"SHUTDOWN_GRACE" envDefault:"30s" allow:"a duration above 0, such as 30s"`

	// Rules are the modes of request rules that differ from the defaults, id=refuse|warn|off.
	Rules policy.Modes `env:"RULES" allow:"comma-separated id=refuse, id=warn or id=off, each id once, of the table that sluice check --rules prints"`
	// SyncImageModels are the models whose synchronous calls make images.
	SyncImageModels []policy.Pattern `env:"SYNC_IMAGE_MODELS" envDefault:"llm-image*" allow:"comma-separated model patterns, such as llm-image*"`
	// EditImageModels are the models of the asynchronous image endpoint.
	EditImageModels []policy.Pattern `env:"EDIT_IMAGE_MODELS" envDefault:"gen2.6-image*" allow:"comma-separated model patterns, such as gen2.6-image*"`
	// ThinkingModels, VisionModels and ReasoningModels wake the rules of those families. Empty: they sleep.
	ThinkingModels  []policy.Pattern `env:"THINKING_MODELS" allow:"comma-separated model patterns"`
	VisionModels    []policy.Pattern `env:"VISION_MODELS" allow:"comma-separated model patterns"`
	ReasoningModels []policy.Pattern `env:"REASONING_MODELS" allow:"comma-separated model patterns"`

	// ProviderName is gen_ai.provider.name of spans and metrics.
	ProviderName string `env:"PROVIDER_NAME" envDefault:"service" allow:"a word of letters, digits, dots, dashes and underscores"`
	// TraceContext tells whether a client's traceparent is linked or joined.
	TraceContext string `env:"TRACE_CONTEXT" envDefault:"link" allow:"link or join"`
	// TraceUpstream sends the trace context upstream.
	TraceUpstream bool `env:"TRACE_UPSTREAM" envDefault:"false" allow:"true or false"`
	// CaptureContent puts prompts and answers into spans, never into the log.
	CaptureContent bool `env:"CAPTURE_CONTENT" envDefault:"false" allow:"true or false"`
	// LogLevel is the least level of a line. A request's own line is info, or above when something went wrong.
	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"info" allow:"debug, info, warn or error"`
	// LogFormat is the form of every line of the log.
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" allow:"json or text"`
}
