// Package settings reads the environment: [Load] returns a process's [Settings], or all their [Faults] together. A fault never quotes a
// value, which may be a secret in the wrong variable.
package settings

import (
	"log/slog"
	"net/url"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/forms"
)

// Prefix begins the name of every variable that Sluice reads.
const Prefix = "SLUICE_"

// Settings are the operator's settings, one field for each variable, in the order of config.example.env. The tags are the
// variable, its default, and the allowed values for the text of a fault.
//
// Secrets have type [upstream.Secret] and a second field whose variable ends in _FILE.
type Settings struct {
	// Listen is where teams' traffic arrives: HTTP/1.1, and HTTP/2 too with TLS.
	Listen string `env:"LISTEN" envDefault:":8080" allow:"host:port or :port, such as :8080"`
	// PublicURL is the address for programs in the console's examples. Empty: Listen, with the host in the address of the console's page.
	PublicURL Origin `env:"PUBLIC_URL" allow:"the address at which programs reach SLUICE_LISTEN, such as https://models.example, without a path or a slash at its end"`
	// AdminListen is for probes and operators: read-only and without a token, so loopback by default.
	AdminListen string `env:"ADMIN_LISTEN" envDefault:"127.0.0.1:8081" allow:"host:port or :port other than SLUICE_LISTEN, such as 127.0.0.1:8081"`
	// AdminHosts are further host names under which clients may address AdminListen. localhost, IP addresses and the
	// name in AdminListen are always allowed.
	AdminHosts []hostName `env:"ADMIN_HOSTS" allow:"comma-separated host names without port, such as sluice,sluice.monitoring.svc"`
	// AdminPprof adds /debug/pprof to the admin listener. A heap profile can contain prompts and keys.
	AdminPprof bool `env:"ADMIN_PPROF" envDefault:"false" allow:"true or false"`
	// ConsoleListen is the address of the console for people and programs; TLS as on Listen. If the default address is taken, there is
	// no console.
	ConsoleListen string `env:"CONSOLE_LISTEN" envDefault:"127.0.0.1:8082" allow:"host:port or :port other than SLUICE_LISTEN and SLUICE_ADMIN_LISTEN, such as 127.0.0.1:8082; off for no console"`
	// ConsoleURL is the console's address for browsers. Empty: only loopback names are answered.
	ConsoleURL Origin `env:"CONSOLE_URL" allow:"the console's address in browsers, such as https://sluice.example, without a path or a slash at its end; http only on loopback; required with SLUICE_OIDC_ISSUER, and unless SLUICE_CONSOLE_LISTEN is loopback or off"`
	// ConsoleTokenFile holds the operator's token; it is read again when it changes. Empty: no token.
	ConsoleTokenFile string `env:"CONSOLE_TOKEN_FILE" allow:"a readable file with nothing but a token of at least 22 visible ASCII characters, or of at least 32 hexadecimal digits"`
	// OIDCIssuer is the OpenID Connect issuer with which people sign on. Empty: none.
	OIDCIssuer string `env:"OIDC_ISSUER" allow:"the issuer's address as its discovery document has it, https, or http on loopback, without user, query or fragment"`
	// OIDCClientID is the client's id at the issuer.
	OIDCClientID string `env:"OIDC_CLIENT_ID" allow:"the client's id at the issuer; required with SLUICE_OIDC_ISSUER, and only with it"`
	// OIDCClientSecret is the client's secret at the issuer. Empty: a public client.
	OIDCClientSecret upstream.Secret `env:"OIDC_CLIENT_SECRET" allow:"the client's secret at the issuer in visible ASCII characters, here or as SLUICE_OIDC_CLIENT_SECRET_FILE, with SLUICE_OIDC_ISSUER"`
	// OIDCClientSecretFile holds OIDCClientSecret instead.
	OIDCClientSecretFile string `env:"OIDC_CLIENT_SECRET_FILE" allow:"a readable file with nothing but the client's secret at the issuer, with SLUICE_OIDC_ISSUER"`
	// OIDCOperators and OIDCViewers are the issuer's groups, or verified e-mail addresses, that give those roles. Empty: the
	// issuer does not grant the role.
	OIDCOperators []member `env:"OIDC_OPERATORS" allow:"comma-separated groups or e-mail addresses, with SLUICE_OIDC_ISSUER"`
	OIDCViewers   []member `env:"OIDC_VIEWERS" allow:"comma-separated groups or e-mail addresses, with SLUICE_OIDC_ISSUER"`
	// MaxConnections bounds the open connections of clients at Listen; one address may have a quarter of them, a trusted proxy all.
	// Default: as many as the limit of open files allows, see [ConnectionsFor].
	MaxConnections int `env:"MAX_CONNECTIONS" allow:"a whole number of at least 1, such as 4096; empty for what the limit of open files leaves room for"`
	// TLSCertFile and TLSKeyFile are PEM files; both or neither. Empty: no TLS on Listen.
	TLSCertFile string `env:"TLS_CERT_FILE" allow:"a readable PEM file with the certificate chain, together with SLUICE_TLS_KEY_FILE"`
	TLSKeyFile  string `env:"TLS_KEY_FILE" allow:"a readable PEM file with the key of that certificate, together with SLUICE_TLS_CERT_FILE"`

	// TrustedProxies are networks whose X-Forwarded-For names the client's address in the log, and whose connections are not
	// limited by address. Empty: the peer is the client.
	TrustedProxies []Network `env:"TRUSTED_PROXIES" allow:"comma-separated addresses, and networks such as 10.0.0.0/8,fd00::/8, each without bits behind its prefix length"`

	// CORSOrigins are the origins whose pages may call Listen from a browser. Empty: none.
	CORSOrigins []Origin `env:"CORS_ORIGINS" allow:"comma-separated origins such as https://chat.example,http://localhost:3000, each a scheme, a host, and a port if it is not the scheme's own, without path; * and null are refused, because any page could then use a key that it gets hold of"`

	// UpstreamURL is the service's base address with its version prefix. Required.
	UpstreamURL *url.URL `env:"UPSTREAM_URL" allow:"an absolute http or https address that ends in /api/v1, without user, query or fragment; required"`
	// UpstreamKey is the Bearer key of the service's account. Required, here or as a file, without AccountsFile.
	UpstreamKey upstream.Secret `env:"UPSTREAM_KEY" allow:"the service's key in visible ASCII characters; required, here or as SLUICE_UPSTREAM_KEY_FILE, without SLUICE_ACCOUNTS_FILE"`
	// UpstreamKeyFile holds UpstreamKey instead; it is read again on every reload of the teams file.
	UpstreamKeyFile string `env:"UPSTREAM_KEY_FILE" allow:"a readable file with nothing but the service's key"`
	// UpstreamProxy is the CONNECT proxy for connections to the service and to issuers. Empty: none.
	UpstreamProxy upstream.Secret `env:"UPSTREAM_PROXY" allow:"a proxy such as http://proxy.example:3128 or https://user:password@proxy.example:443"`
	// UpstreamProxyFile holds UpstreamProxy instead.
	UpstreamProxyFile string `env:"UPSTREAM_PROXY_FILE" allow:"a readable file with nothing but the address of the proxy"`
	// NoProxy lists the hosts that are reached without UpstreamProxy.
	NoProxy string `env:"NO_PROXY" allow:"comma-separated hosts, domains such as .example.com, addresses and networks"`
	// AccountsFile is the YAML file of the accounts at the service, which replaces UpstreamKey. Empty: one account with UpstreamKey.
	AccountsFile string `env:"ACCOUNTS_FILE" allow:"a readable YAML file, a regular one of at most 8 MiB; empty for one account with SLUICE_UPSTREAM_KEY"`
	// HeaderPrefix is the service's word in its header names, dashes included.
	HeaderPrefix string `env:"HEADER_PREFIX" envDefault:"X-Service-" allow:"letters, digits and dashes, ending in a dash, such as X-Service-"`
	// Workspace is sent to the service in <prefix>WorkSpace: strip (nothing), forward (the client's value), or a fixed value.
	Workspace string `env:"WORKSPACE" envDefault:"strip" allow:"strip, forward, or a header value in visible ASCII characters"`
	// DataInspection is the same for <prefix>DataInspection.
	DataInspection string `env:"DATA_INSPECTION" envDefault:"strip" allow:"strip, forward, or a header value in visible ASCII characters"`
	// ForwardPaths are path prefixes below the version prefix that are forwarded. Bodies with a form are under all limits; without one they
	// are not read, and only teams with the endpoint other may use the path. Empty: none.
	ForwardPaths []forms.Path `env:"FORWARD_PATHS" allow:"comma-separated path prefixes such as uploads,services/video=native, each with one of the forms native, openai, responses, messages, opaque or none, none of them above, at or below a path that Sluice answers itself, or one with another form"`

	// TeamsFile is the YAML file of teams, keys and limits.
	TeamsFile string `env:"TEAMS_FILE" envDefault:"teams.yaml" allow:"a readable YAML file, a regular one of at most 8 MiB"`
	// TeamsPoll is how often TeamsFile, AccountsFile and the files of keys are read.
	TeamsPoll time.Duration `env:"TEAMS_POLL" envDefault:"500ms" allow:"a duration between 10ms and 8760h, such as 500ms"`

	// DirectoryFile stores the directory, the teams that can be changed at run time, when there is no Redis. Empty: directory.json beside
	// TeamsFile.
	DirectoryFile string `env:"DIRECTORY_FILE" allow:"a path in a directory in which Sluice may write, such as /var/lib/sluice/directory.json; empty for directory.json beside SLUICE_TEAMS_FILE"`
	// StateDir stores a copy of the directory in Redis, for a start without Redis. Empty: no copy.
	StateDir string `env:"STATE_DIR" allow:"a directory in which Sluice may write, used by this process only"`

	// RedisURL is where quotas and tasks are kept. Empty: in this process's memory, lost when it ends.
	RedisURL upstream.Secret `env:"REDIS_URL" allow:"redis://host, rediss://host, redis+cluster://h1,h2 or redis+sentinel://h1,h2/master/db[?sentinel=user:password]"`
	// RedisURLFile holds RedisURL instead.
	RedisURLFile string `env:"REDIS_URL_FILE" allow:"a readable file with nothing but the address of Redis"`
	// RedisTimeout bounds one call to Redis on a request's path.
	RedisTimeout time.Duration `env:"REDIS_TIMEOUT" envDefault:"250ms" allow:"a duration above 0 and at most 8760h, such as 250ms"`
	// OnStateLoss selects what admission does without Redis: spend allowances (local), or refuse.
	OnStateLoss string `env:"ON_STATE_LOSS" envDefault:"local" allow:"local or refuse"`
	// OutageBridge is how long this process may spend a team's allowance without Redis.
	OutageBridge time.Duration `env:"OUTAGE_BRIDGE" envDefault:"10m" allow:"a duration between 1m and 1h, such as 10m"`
	// Replicas is the largest number of processes that share the rates.
	Replicas int `env:"REPLICAS" envDefault:"1" allow:"a whole number of at least 1"`
	// PollInterval is the least time between two queries about one running task.
	PollInterval time.Duration `env:"POLL_INTERVAL" envDefault:"5s" allow:"a duration between 100ms and 8760h, such as 5s"`
	// TaskQueryRate bounds the task queries a second of all teams together.
	TaskQueryRate int `env:"TASK_QUERY_RATE" envDefault:"20" allow:"a whole number of at least 1"`
	// TaskTTL is how long the service keeps a task and serves its images.
	TaskTTL time.Duration `env:"TASK_TTL" envDefault:"24h" allow:"a duration above 0 and at most 8760h, such as 24h"`
	// TaskTimezone is the zone of the times in task answers, which state none.
	TaskTimezone *time.Location `env:"TASK_TIMEZONE" envDefault:"+08:00" allow:"an offset from UTC, such as +08:00"`

	// EventTTL is how long events are kept and their delivery is retried.
	EventTTL time.Duration `env:"EVENT_TTL" envDefault:"72h" allow:"a duration between 1m and 720h, such as 72h"`
	// MaxBody bounds a request's body.
	MaxBody ByteSize `env:"MAX_BODY" envDefault:"64MiB" allow:"a size above 0, such as 64MiB"`
	// BodyBudget bounds the memory of all request bodies together; one team may have half of it.
	BodyBudget ByteSize `env:"BODY_BUDGET" envDefault:"512MiB" allow:"a size of at least twice SLUICE_MAX_BODY, such as 512MiB, because one team has at most half of it"`
	// ConnectTimeout bounds connecting to the service, TLS included.
	ConnectTimeout time.Duration `env:"CONNECT_TIMEOUT" envDefault:"5s" allow:"a duration above 0 and at most 8760h, such as 5s"`
	// HeaderTimeout bounds the wait for the service's response header after the request's last byte.
	HeaderTimeout time.Duration `env:"HEADER_TIMEOUT" envDefault:"300s" allow:"a duration above 0 and at most 8760h, such as 300s"`
	// IdleTimeout bounds the time without a byte in a response of the service, and while a request is sent.
	IdleTimeout time.Duration `env:"IDLE_TIMEOUT" envDefault:"300s" allow:"a duration above 0 and at most 8760h, such as 300s"`
	// WriteTimeout bounds one write to a client that does not read.
	WriteTimeout time.Duration `env:"WRITE_TIMEOUT" envDefault:"30s" allow:"a duration above 0 and at most 8760h, such as 30s"`
	// ShutdownDelay is how long requests are still accepted after SIGTERM, until balancers send none. Zero: no delay.
	ShutdownDelay time.Duration `env:"SHUTDOWN_DELAY" envDefault:"5s" allow:"a duration between 0s and 8760h, such as 5s"`
	// ShutdownGrace is how long running requests have to end after that delay.
	ShutdownGrace time.Duration `env:"SHUTDOWN_GRACE" envDefault:"30s" allow:"a duration above 0 and at most 8760h, such as 30s"`

	// Rules are the modes of request rules that differ from the defaults: id=refuse, id=warn or id=off.
	Rules policy.Modes `env:"RULES" allow:"comma-separated id=refuse, id=warn or id=off, each id once, of the table that sluice check --rules prints"`
	// SyncImageModels are the models whose synchronous calls make images.
	SyncImageModels []policy.Pattern `env:"SYNC_IMAGE_MODELS" envDefault:"llm-image*" allow:"comma-separated model patterns, such as llm-image*"`
	// EditImageModels are the models of the asynchronous image endpoint.
	EditImageModels []policy.Pattern `env:"EDIT_IMAGE_MODELS" envDefault:"gen2.6-image*" allow:"comma-separated model patterns, such as gen2.6-image*"`
	// ThinkingModels, VisionModels and ReasoningModels turn on the rules of those families. Empty: off.
	ThinkingModels  []policy.Pattern `env:"THINKING_MODELS" allow:"comma-separated model patterns"`
	VisionModels    []policy.Pattern `env:"VISION_MODELS" allow:"comma-separated model patterns"`
	ReasoningModels []policy.Pattern `env:"REASONING_MODELS" allow:"comma-separated model patterns"`

	// OpenAI adds the routes of OpenAI's interface, /v1/….
	OpenAI bool `env:"OPENAI" envDefault:"true" allow:"true or false"`
	// KnownModelsOnly refuses models on those routes that the teams file does not name.
	KnownModelsOnly bool `env:"KNOWN_MODELS_ONLY" envDefault:"false" allow:"true or false"`
	// ImageWait bounds the wait for a task on those routes. Then the client gets 504 with the task's id.
	ImageWait time.Duration `env:"IMAGE_WAIT" envDefault:"10m" allow:"a duration above 0 and at most 8760h, such as 10m"`

	// EmbeddingsPath is the service's path for embeddings, which both interfaces then serve. Empty: they do not.
	EmbeddingsPath string `env:"EMBEDDINGS_PATH" allow:"a path below the version prefix, such as services/embeddings/text-embedding/text-embedding, and none that Sluice answers otherwise; empty for none"`
	// EmbeddingsTexts and EmbeddingsLength bound a request for them: its texts, and the tokens of one, as estimated. 0: no bound.
	EmbeddingsTexts  int   `env:"EMBEDDINGS_TEXTS" envDefault:"10" allow:"a whole number of 0 or more"`
	EmbeddingsLength int64 `env:"EMBEDDINGS_LENGTH" envDefault:"8192" allow:"a whole number of 0 or more"`

	// ResultHosts are the hosts from which pictures are fetched for clients that want them in the answer. Empty: none.
	ResultHosts []upstream.Host `env:"RESULT_HOSTS" allow:"comma-separated hosts such as store.example,*.store.example, with a port for only that port, without scheme"`
	// ResultNetworks are networks that these hosts may be in, in addition to public ones. Empty: none.
	ResultNetworks []Network `env:"RESULT_NETWORKS" allow:"comma-separated addresses, and networks such as 10.0.0.0/8,fd00::/8, each without bits behind its prefix length"`

	// MirrorURL is the store for pictures of tasks. Empty: they are not stored.
	MirrorURL store.Address `env:"MIRROR_URL" allow:"s3://bucket/prefix?endpoint=https://host:port&region=name, or file:///dir on a single machine with SLUICE_MIRROR_PROXY=true; with SLUICE_RESULT_HOSTS"`
	// MirrorProxy serves stored pictures through Sluice; else clients are redirected to the store with a signed address.
	MirrorProxy bool `env:"MIRROR_PROXY" envDefault:"false" allow:"true or false; true with a store that is a folder"`

	// HookNetworks are networks that hooks may be in, in addition to public addresses. Empty: none.
	HookNetworks []Network `env:"HOOK_NETWORKS" allow:"comma-separated addresses, and networks such as 10.0.0.0/8,fd00::/8, each without bits behind its prefix length"`

	// ProviderName is gen_ai.provider.name of spans and metrics.
	ProviderName string `env:"PROVIDER_NAME" envDefault:"service" allow:"a word of letters, digits, dots, dashes and underscores"`
	// TraceContext selects whether a span links to the client's traceparent or joins its trace.
	TraceContext string `env:"TRACE_CONTEXT" envDefault:"link" allow:"link or join"`
	// TraceUpstream sends the trace context to the service.
	TraceUpstream bool `env:"TRACE_UPSTREAM" envDefault:"false" allow:"true or false"`
	// TraceURLTemplate is the target of the console's links to traces. Empty: no links.
	TraceURLTemplate traceTemplate `env:"TRACE_URL_TEMPLATE" allow:"an address with {trace} in place of the trace's id, such as https://traces.example/trace/{trace}"`
	// CaptureContent puts prompts and answers into spans, never into the log.
	CaptureContent bool `env:"CAPTURE_CONTENT" envDefault:"false" allow:"true or false"`
	// LogLevel is the least level that is logged. A request's line is info, or higher if it failed.
	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"info" allow:"debug, info, warn or error"`
	// LogFormat is the format of the log.
	LogFormat string `env:"LOG_FORMAT" envDefault:"json" allow:"json or text"`
}
