package settings

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/gateway/upstream"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// The values of ON_STATE_LOSS.
const (
	stateLocal  = "local"
	StateRefuse = "refuse"
)

// The values of TRACE_CONTEXT.
const (
	contextLink = "link"
	ContextJoin = "join"
)

// validate checks parsed settings. Settings that could not be parsed already have faults.
func (s *Settings) validate(fs *Faults) {
	fs.require([]requirement{
		{"LISTEN", isAddress(s.Listen)},
		{"ADMIN_LISTEN", isAddress(s.AdminListen) && (s.AdminListen != s.Listen || freePort(s.Listen))},
		{"MAX_CONNECTIONS", s.MaxConnections >= 1},
		{"TLS_CERT_FILE", s.TLSCertFile != "" || s.TLSKeyFile == ""},
		{"TLS_KEY_FILE", s.TLSKeyFile != "" || s.TLSCertFile == ""},
		{"UPSTREAM_URL", teams.IsServiceURL(s.UpstreamURL)},
		{"UPSTREAM_KEY", files.IsKey(s.UpstreamKey) || s.UpstreamKeyFile != "" || s.AccountsFile != ""},
		{"UPSTREAM_KEY_FILE", files.IsKey(s.UpstreamKey) || s.UpstreamKeyFile == "" || s.AccountsFile != ""},
		{"UPSTREAM_PROXY", isProxy(s.UpstreamProxy) || s.UpstreamProxyFile != ""},
		{"UPSTREAM_PROXY_FILE", isProxy(s.UpstreamProxy) || s.UpstreamProxyFile == ""},
		{"NO_PROXY", !slices.ContainsFunc(strings.Split(s.NoProxy, ","), isNoPlace)},
		{"HEADER_PREFIX", headerPrefixForm.MatchString(s.HeaderPrefix)},
		{"WORKSPACE", isHeaderValue(s.Workspace)},
		{"DATA_INSPECTION", isHeaderValue(s.DataInspection)},
		{"FORWARD_PATHS", !mixed(s.ForwardPaths)},
		{"TEAMS_POLL", lasts(s.TeamsPoll, 10*time.Millisecond)}, // each poll reads the file
		{"REDIS_URL", isRedisURL(s.RedisURL) || s.RedisURLFile != ""},
		{"REDIS_URL_FILE", isRedisURL(s.RedisURL) || s.RedisURLFile == ""},
		{"ON_STATE_LOSS", isOneOf(s.OnStateLoss, stateLocal, StateRefuse)},
		{"OUTAGE_BRIDGE", s.OutageBridge >= time.Minute && s.OutageBridge <= time.Hour},
		{"REPLICAS", s.Replicas >= 1},
		{"POLL_INTERVAL", lasts(s.PollInterval, 100*time.Millisecond)},
		{"TASK_QUERY_RATE", s.TaskQueryRate >= 1},
		{"MAX_BODY", s.MaxBody > 0},
		{"BODY_BUDGET", s.BodyBudget > 0 && s.BodyBudget/2 >= s.MaxBody},
		{"SHUTDOWN_DELAY", lasts(s.ShutdownDelay, 0)},
		{"MIRROR_URL", s.MirrorURL.String() == "" || len(s.ResultHosts) > 0},
		{"MIRROR_PROXY", s.MirrorURL.Dir == "" || s.MirrorProxy},
		{"PROVIDER_NAME", providerForm.MatchString(s.ProviderName)},
		{"TRACE_CONTEXT", isOneOf(s.TraceContext, contextLink, ContextJoin)},
		{"LOG_FORMAT", isOneOf(s.LogFormat, "json", "text")},
		// An endless wait holds memory, connections and tasks forever.
		{"REDIS_TIMEOUT", lasts(s.RedisTimeout, 1)},
		{"TASK_TTL", lasts(s.TaskTTL, 1)},
		{"EVENT_TTL", s.EventTTL >= time.Minute && s.EventTTL <= 720*time.Hour},
		{"CONNECT_TIMEOUT", lasts(s.ConnectTimeout, 1)},
		{"HEADER_TIMEOUT", lasts(s.HeaderTimeout, 1)},
		{"IDLE_TIMEOUT", lasts(s.IdleTimeout, 1)},
		{"WRITE_TIMEOUT", lasts(s.WriteTimeout, 1)},
		{"IMAGE_WAIT", lasts(s.ImageWait, 1)},
		{"EMBEDDINGS_PATH", s.EmbeddingsPath == "" || isFree(s.EmbeddingsPath)},
		{"EMBEDDINGS_TEXTS", s.EmbeddingsTexts >= 0},
		{"EMBEDDINGS_LENGTH", s.EmbeddingsLength >= 0},
		{"SHUTDOWN_GRACE", lasts(s.ShutdownGrace, 1)},
	})
	s.validateConsole(fs)
}

// requirement is a condition that a setting must meet.
type requirement struct {
	name string
	ok   bool
}

func (fs *Faults) require(all []requirement) {
	for _, r := range all {
		if !r.ok {
			fs.Add(Prefix+r.name, "allowed: "+Allowed[Prefix+r.name])
		}
	}
}

var (
	headerPrefixForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,62}-$`)
	providerForm     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// isAddress accepts only numeric ports: the port of a name depends on the machine.
func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// mostDuration bounds every duration: sums and multiples of settings never overflow.
const mostDuration = 8760 * time.Hour

// lasts reports whether a duration is at least that long, and not too long to be added up.
func lasts(d, least time.Duration) bool { return d >= least && d <= mostDuration }

// freePort reports whether the system chooses the port, so that equal addresses do not collide.
func freePort(address string) bool {
	_, port, _ := net.SplitHostPort(address)
	return port == "0"
}

func isRedisURL(secret upstream.Secret) bool {
	_, ok := redisclient.ParseAddress(secret.Reveal())
	return secret == "" || ok
}

func isProxy(address upstream.Secret) bool {
	_, err := upstream.ParseTunnel(address, "")
	return err == nil
}

// placeForm is a host, or a domain with the hosts below it. * is every host.
var placeForm = regexp.MustCompile(`^(\*|(\*?\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?)$`)

// isNoPlace reports whether an element of NO_PROXY could never match: the library takes it for a host of that name.
func isNoPlace(element string) bool {
	element = strings.TrimSpace(element)
	if strings.Contains(element, "/") {
		_, err := netip.ParsePrefix(element)
		return err != nil
	}
	if host, port, err := net.SplitHostPort(element); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return true
		}
		element = host
	}
	_, err := netip.ParseAddr(strings.Trim(element, "[]"))
	return element != "" && err != nil && !placeForm.MatchString(element)
}

func isHeaderValue(value string) bool { return value != "" && isVisible(value, 0x20) }

// isVisible reports whether text is ASCII from the given byte up to ~.
func isVisible(text string, from byte) bool {
	for i := range len(text) {
		if text[i] < from || text[i] > '~' {
			return false
		}
	}
	return true
}

func isOneOf(word string, words ...string) bool { return slices.Contains(words, word) }

// Fault is one fault of the configuration. It names the setting and what is allowed, never the value, which may be a secret in the
// wrong variable. Only ids and modes of rules are quoted, if they have the right form.
type Fault struct {
	Name string // the setting, such as SLUICE_LISTEN, or the teams file's path
	Text string // the allowed values, or the fault
	Mark string // the faulty part of a file with carets under it, in whole lines; empty: not shown
}

// Faults are all faults of the configuration. As an error they make the program exit with code 2.
type Faults []Fault

// Error lists one fault a line, with its mark below.
func (fs Faults) Error() string {
	lines := make([]string, 0, len(fs))
	for _, f := range fs {
		lines = append(lines, f.Name+": "+f.Text)
		for mark := range strings.Lines(f.Mark) {
			lines = append(lines, "    "+strings.TrimSuffix(mark, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// OneLine returns the faults in one line, for the log and for readiness.
func (fs Faults) OneLine() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Name + ": " + f.Text
	}
	return strings.Join(texts, "; ")
}

// DocumentFaults returns the faults of a document, with marks.
func DocumentFaults(name string, bad strictyaml.Faults) Faults {
	fs := make(Faults, len(bad))
	for i, f := range bad {
		fs[i] = Fault{Name: name, Text: f.String(), Mark: f.Caret()}
	}
	return fs
}

// ContentFaults returns the faults of a watched file, also if it cannot be read.
func ContentFaults(name string, err error) Faults {
	if bad, ok := errors.AsType[strictyaml.Faults](err); ok {
		return DocumentFaults(name, bad)
	}
	return Faults{{Name: name, Text: err.Error() + "; allowed: " + Allowed[name]}}
}

// Brief returns an error in one line.
func Brief(err error) error {
	var all strictyaml.Faults
	if errors.As(err, &all) {
		return errors.New(strings.ReplaceAll(all.Error(), "\n", "; "))
	}
	return err
}

// Add adds a fault unless the setting has one.
func (fs *Faults) Add(name, text string) {
	if !fs.Has(name) {
		*fs = append(*fs, Fault{Name: name, Text: text})
	}
}

// Has reports whether a variable has a fault.
func (fs Faults) Has(name string) bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return f.Name == name })
}

// Err returns fs, sorted by name, as an error; nil: no fault.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Name, b.Name) })
	return fs
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
