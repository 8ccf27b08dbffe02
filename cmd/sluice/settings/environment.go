package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/spelling"
	"sluice/policy/strictyaml"
)

// Injected are prefixes of variables that Kubernetes sets in every pod that shares a namespace with a Service called "sluice". They
// are neither settings nor misspelled ones.
var Injected = []string{Prefix + "SERVICE_", Prefix + "PORT"}

// Load reads the settings from environ, which has the form of os.Environ. It reports all faults together, as [Faults]; with an error it
// also returns the settings that could be read.
func Load(environ []string) (Settings, error) {
	var s Settings
	var fs Faults
	variables := ownVariables(environ, &fs)
	parse(&s, variables, &fs)
	if variables[Prefix+"MAX_CONNECTIONS"] == "" {
		s.MaxConnections = ConnectionsFor(files.Allowed())
	}
	s.readSecretFiles(&fs)
	s.validate(&fs)
	return s, fs.Err()
}

// ownVariables returns Sluice's variables. An empty one counts as unset: compose files and charts set variables without a value to
// nothing.
func ownVariables(environ []string, fs *Faults) map[string]string {
	variables := make(map[string]string)
	for _, assignment := range environ {
		name, value, _ := strings.Cut(assignment, "=")
		switch {
		case !strings.HasPrefix(name, Prefix) || slices.ContainsFunc(Injected, func(start string) bool { return strings.HasPrefix(name, start) }):
		case Allowed[name] == "":
			text := "is not a setting; config.example.env lists all"
			if nearest := spelling.Nearest(name, Names); nearest != "" {
				text = "is not a setting; the nearest is " + nearest
			}
			fs.Add(name, text)
		case value == "":
		case strings.TrimSpace(value) != value:
			fs.Add(name, "begins or ends with white space; allowed: "+Allowed[name])
		default:
			variables[name] = value
		}
	}
	return variables
}

// parse fills s. The library's errors quote the value, which may be a secret, so a fault has only the field, and for rules also the
// fault that policy found.
func parse(s *Settings, variables map[string]string, fs *Faults) {
	err := env.ParseWithOptions(s, env.Options{Environment: variables, Prefix: Prefix, FuncMap: parsers})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return
	}
	for _, err := range all.Errors {
		var bad env.ParseError
		if !errors.As(err, &bad) {
			panic("settings: a tag is wrong: " + err.Error()) // in the struct; no value was parsed yet
		}
		field, _ := reflect.TypeFor[Settings]().FieldByName(bad.Name)
		name := Prefix + field.Tag.Get("env")
		fs.Add(name, parseFault(name, bad))
	}
}

func parseFault(name string, bad env.ParseError) string {
	var named strictyaml.Faults
	if !errors.As(bad.Err, &named) {
		return "allowed: " + Allowed[name]
	}
	return Brief(named).Error()
}

// Names are the variables in the order of the struct, and allowedValues describes the values of each.
var Names, allowedValues = describeSettings()

// Allowed describes the values of each variable.
var Allowed = allowedValues

// Secrets are the variables that hold secrets.
var Secrets = []string{Prefix + "OIDC_CLIENT_SECRET", Prefix + "UPSTREAM_KEY", Prefix + "UPSTREAM_PROXY", Prefix + "REDIS_URL"}

func describeSettings() ([]string, map[string]string) {
	var names []string
	texts := make(map[string]string)
	for field := range reflect.TypeFor[Settings]().Fields() {
		name := Prefix + field.Tag.Get("env")
		names = append(names, name)
		texts[name] = field.Tag.Get("allow")
	}
	return names, texts
}

// readSecretFiles fills every secret whose _FILE twin is set.
func (s *Settings) readSecretFiles(fs *Faults) {
	for _, twin := range []struct {
		name, file string
		secret     *upstream.Secret
	}{
		{Prefix + "UPSTREAM_KEY", s.UpstreamKeyFile, &s.UpstreamKey},
		{Prefix + "UPSTREAM_PROXY", s.UpstreamProxyFile, &s.UpstreamProxy},
		{Prefix + "REDIS_URL", s.RedisURLFile, &s.RedisURL},
		{Prefix + "OIDC_CLIENT_SECRET", s.OIDCClientSecretFile, &s.OIDCClientSecret},
	} {
		name := twin.name + "_FILE"
		if twin.file == "" || twin.secret == &s.UpstreamKey && s.AccountsFile != "" {
			continue
		}
		if *twin.secret != "" {
			fs.Add(name, twin.name+" is set too; allowed: one of the two")
			continue
		}
		secret, err := files.Secret(twin.file)
		if err != nil {
			fs.Add(name, err.Error()+"; allowed: "+Allowed[name])
		}
		*twin.secret = secret
	}
}

// Values returns the settings as text by variable, in the environment's form. A secret that is set is "[redacted]".
func (s Settings) Values() map[string]string {
	texts := make(map[string]string)
	for field, value := range reflect.ValueOf(s).Fields() {
		texts[Prefix+field.Tag.Get("env")] = show(value.Interface())
	}
	return texts
}

func show(value any) string {
	switch v := value.(type) {
	case upstream.Secret:
		if v == "" {
			return ""
		}
	case *url.URL:
		if v == nil {
			return ""
		}
	case time.Duration:
		return ShowDuration(v)
	case policy.Modes:
		return showModes(v)
	case slog.Level:
		return strings.ToLower(v.String())
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice {
		words := make([]string, v.Len())
		for i := range words {
			words[i] = show(v.Index(i).Interface())
		}
		return strings.Join(words, ",")
	}
	return fmt.Sprint(value)
}

func showModes(modes policy.Modes) string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(modes)) {
		pairs = append(pairs, id+"="+string(modes[id]))
	}
	return strings.Join(pairs, ",")
}

// ShowDuration formats a duration without trailing zero units: 24h, not 24h0m0s.
func ShowDuration(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zeros) {
			text = strings.TrimSuffix(text, zeros[1:])
		}
	}
	return text
}

const (
	// OwnFiles is how many file descriptors are reserved for the admin listener's and the console's connections, those to Redis, telemetry
	// and files.
	OwnFiles = AdminConnections + ConsoleConnections + redisclient.Connections + 48
	// mostByDefault bounds the default, because an idle connection takes some 20 KiB of memory.
	mostByDefault = 16_384
	// AdminConnections bounds the connections of the admin listener: probes and Prometheus need a few.
	AdminConnections = 64
	// ConsoleConnections bounds the connections of the console's listener; one address may have a quarter.
	ConsoleConnections = 128
	// AdminIdle is how long an idle connection of the admin listener stays open. Probes open a new one each time.
	AdminIdle = 5 * time.Second
)

// ConnectionsFor returns how many client connections fit into a limit of open files: each may also need one to the service.
func ConnectionsFor(files uint64) int {
	half := (max(files, OwnFiles) - OwnFiles) / 2
	return int(max(1, min(max(half, files/4), mostByDefault)))
}
