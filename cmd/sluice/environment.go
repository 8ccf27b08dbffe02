package main

import (
	"errors"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"

	"sluice/gateway"
	"sluice/policy/teams"
)

// Kubernetes sets variables of these names in every pod that shares a namespace with a Service called "sluice". They
// are neither settings nor misspelled ones.
var injected = []string{prefix + "SERVICE_", prefix + "PORT"}

// loadSettings reads the settings out of environ, which has the form of os.Environ. It reports every fault at once, as
// [faults]; the settings that come with an error are those that could be read.
func loadSettings(environ []string) (settings, error) {
	var s settings
	var fs faults
	variables := ours(environ, &fs)
	parse(&s, variables, &fs)
	if variables[prefix+"MAX_CONNECTIONS"] == "" {
		s.MaxConnections = connectionsFor(filesAllowed())
	}
	s.readSecretFiles(&fs)
	s.validate(&fs)
	s.validateConsole(&fs)
	return s, fs.err()
}

// ours picks Sluice's own variables. An empty one counts as unset: compose files and charts set variables to nothing when
// they have no value for them.
func ours(environ []string, fs *faults) map[string]string {
	variables := make(map[string]string)
	for _, assignment := range environ {
		name, value, _ := strings.Cut(assignment, "=")
		switch {
		case !strings.HasPrefix(name, prefix) || isInjected(name):
		case allowed[name] == "":
			fs.add(name, unknownSetting(name))
		case value == "":
		case strings.TrimSpace(value) != value:
			fs.add(name, "begins or ends with white space; allowed: "+allowed[name])
		default:
			variables[name] = value
		}
	}
	return variables
}

func unknownSetting(name string) string {
	if nearest := teams.Nearest(name, settingNames); nearest != "" {
		return "is not a setting; the nearest is " + nearest
	}
	return "is not a setting; config.example.env lists all"
}

func isInjected(name string) bool {
	for _, start := range injected {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// parse fills s. The library's errors quote the value, which may be a secret, so only the field is shown; of rules also the
// fault that policy found.
func parse(s *settings, variables map[string]string, fs *faults) {
	err := env.ParseWithOptions(s, env.Options{Environment: variables, Prefix: prefix, FuncMap: parsers})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return
	}
	for _, err := range all.Errors {
		var bad env.ParseError
		if !errors.As(err, &bad) {
			panic("settings: a tag is wrong: " + err.Error()) // of the struct, before any value was looked at
		}
		field, _ := reflect.TypeFor[settings]().FieldByName(bad.Name)
		name := prefix + field.Tag.Get("env")
		fs.add(name, parseFault(name, bad))
	}
}

func parseFault(name string, bad env.ParseError) string {
	var named teams.Faults
	if !errors.As(bad.Err, &named) {
		return "allowed: " + allowed[name]
	}
	texts := make([]string, len(named))
	for i := range named {
		texts[i] = named[i].String()
	}
	return strings.Join(texts, "; ")
}

// settingNames are the variables in the order of the struct, and allowed describes the values of each.
var settingNames, allowed = describeSettings()

// secretNames are the variables that hold a secret themselves.
var secretNames = []string{prefix + "OIDC_CLIENT_SECRET", prefix + "UPSTREAM_KEY", prefix + "REDIS_URL"}

func describeSettings() ([]string, map[string]string) {
	var names []string
	texts := make(map[string]string)
	for field := range reflect.TypeFor[settings]().Fields() {
		name := prefix + field.Tag.Get("env")
		names = append(names, name)
		texts[name] = field.Tag.Get("allow")
	}
	return names, texts
}

// readSecretFiles fills every secret whose _FILE twin is set.
func (s *settings) readSecretFiles(fs *faults) {
	for _, twin := range []struct {
		name, file string
		secret     *gateway.Secret
	}{
		{prefix + "UPSTREAM_KEY", s.UpstreamKeyFile, &s.UpstreamKey},
		{prefix + "REDIS_URL", s.RedisURLFile, &s.RedisURL},
		{prefix + "OIDC_CLIENT_SECRET", s.OIDCClientSecretFile, &s.OIDCClientSecret},
	} {
		name := twin.name + "_FILE"
		if twin.file == "" {
			continue
		}
		if *twin.secret != "" {
			fs.add(name, twin.name+" is set too; allowed: one of the two")
			continue
		}
		secret, err := readSecret(twin.file)
		if err != nil {
			fs.add(name, err.Error()+"; allowed: "+allowed[name])
		}
		*twin.secret = secret
	}
}
