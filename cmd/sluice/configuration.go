package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/hooks"
	"sluice/gateway/mirror/store"
	"sluice/policy/account"
	"sluice/policy/forms"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// configuration is the settings and the content of the files that they name.
type configuration struct {
	settings.Settings
	// Upstream are the accounts at the service, and First is the content of the files of accounts and teams. They are exported because
	// fmt calls the methods that redact secrets only on exported fields.
	Upstream files.Upstream
	First    files.Look

	Mirror store.Keys // of the store of pictures, if the environment has them

	teams       *teams.File
	certificate *files.Pair // nil: no TLS
	authorities *files.Authorities
	consoleMode consoleMode
	warnings    []string         // about settings that are allowed but may be mistakes
	counted     settings.Faults  // why amounts cannot be counted in the teams file's currency; nil: they can, or it is not known
	clock       func() time.Time // of accounts in memory; nil: the real one
}

// consoleMode is what happens if the console cannot listen at its address.
type consoleMode int

const (
	consoleOptional consoleMode = iota // no console, and a warning: the default console must not stop a gateway
	consoleRequired                    // the process does not start
	consoleMovable                     // the system chooses another port
)

// consoleModeIn returns the mode of an environment: an operator who sets an address requires a console there.
func consoleModeIn(environ []string) consoleMode {
	if isSet(environ, settings.Prefix+"CONSOLE_LISTEN") {
		return consoleRequired
	}
	return consoleOptional
}

// isSet reports whether one of the variables is set and not empty.
func isSet(environ []string, names ...string) bool {
	return slices.ContainsFunc(environ, func(assignment string) bool {
		name, value, _ := strings.Cut(assignment, "=")
		return value != "" && slices.Contains(names, name)
	})
}

// loadConfiguration reads the settings and their files. It reports all faults together, as [settings.Faults], and what it could read.
func loadConfiguration(environ []string) (configuration, error) {
	s, err := settings.Load(environ)
	c := configuration{Settings: s, consoleMode: consoleModeIn(environ), Mirror: credentials(environ)}
	var fs settings.Faults
	_ = errors.As(err, &fs)
	c.First = files.At(watchedFiles(s), files.Look{})
	var bad settings.Faults
	c.teams, c.Upstream, bad = judge(s, &c.First)
	bad = append(bad, settings.DocumentFaults(settings.Prefix+"TEAMS_FILE", hooks.Faults(c.teams, posting(s)))...)
	fs = append(fs, slices.DeleteFunc(bad, func(f settings.Fault) bool { return fs.Has(f.Name) })...)
	c.loadCertificate(&fs)
	for _, f := range telemetry.Faults() {
		fs.Add(f.Name, f.Text)
	}
	c.warn()
	if c.authorities, err = files.OpenAuthorities(environ); err != nil {
		c.warnings = append(c.warnings, "SSL_CERT_FILE, SSL_CERT_DIR: "+err.Error())
	}
	if isSet(environ, "HTTPS_PROXY", "https_proxy") {
		way := "not set, so the service is reached directly"
		if c.UpstreamProxy != "" {
			way = "it is the proxy"
		}
		c.warnings = append(c.warnings, settings.Prefix+"UPSTREAM_PROXY: "+way+"; the environment's HTTPS_PROXY is not used")
	}
	return c, fs.Err()
}

// watchedFiles are the paths of the files that are read again while Sluice serves.
func watchedFiles(s settings.Settings) files.Paths {
	return files.Paths{Teams: s.TeamsFile, Accounts: s.AccountsFile, Key: s.UpstreamKeyFile}
}

// judge parses the watched files, and checks that teams and accounts fit together. It reads no other files, such as secrets of hooks.
func judge(s settings.Settings, l *files.Look) (*teams.File, files.Upstream, settings.Faults) {
	var fs settings.Faults
	up, err := upstreamIn(s, l)
	if err != nil {
		name := settings.Prefix + "UPSTREAM_KEY_FILE"
		if s.AccountsFile != "" {
			name = settings.Prefix + "ACCOUNTS_FILE"
		}
		fs = settings.ContentFaults(name, err)
	}
	file, bad := judgeTeams(l.Teams, l.TeamsErr, up.Digests())
	if fs = append(fs, bad...); file == nil || up.File == nil {
		return file, up, fs
	}
	if up.File.NoFile {
		up.File.List[0].Limits = file.Account
	} else if up.File, err = up.File.In(file.Money); err != nil {
		return file, up, append(fs, settings.ContentFaults(settings.Prefix+"ACCOUNTS_FILE", err)...)
	}
	misfits, _ := account.Fit(up.File, file)
	return file, up, append(fs, settings.DocumentFaults(settings.Prefix+"TEAMS_FILE", misfits)...)
}

// upstreamIn returns the accounts at the service.
func upstreamIn(s settings.Settings, l *files.Look) (files.Upstream, error) {
	if s.AccountsFile != "" {
		return l.Upstream()
	}
	key := files.Key{Secret: s.UpstreamKey}
	if s.UpstreamKeyFile != "" {
		key = l.Keys[teams.MainAccount]
	}
	if key.Err == nil && !files.IsKey(key.Secret) {
		key.Err = errors.New("the content is no key")
	}
	return files.Main(s.UpstreamURL, key.Secret), key.Err
}

// judgeTeams parses a teams file. It refuses one in which a team's key is a key of an account at the service.
func judgeTeams(doc []byte, err error, keys []teams.Digest) (*teams.File, settings.Faults) {
	const name = settings.Prefix + "TEAMS_FILE"
	var file *teams.File
	if err == nil {
		file, err = teams.Parse(doc)
	}
	switch {
	case err != nil:
		return nil, settings.ContentFaults(name, err)
	case slices.ContainsFunc(keys, file.HasKey):
		return nil, settings.Faults{
			{Name: name, Text: "a team's key is the upstream key, with which the team can go around the gateway; mint another with sluice key"},
		}
	}
	return file, nil
}

// loadCertificate reads the TLS files, so that their faults are reported with all others.
func (c *configuration) loadCertificate(fs *settings.Faults) {
	if c.TLSCertFile == "" || c.TLSKeyFile == "" {
		return
	}
	pair, ofCertificate, ofKey := files.OpenPair(c.TLSCertFile, c.TLSKeyFile)
	for name, err := range map[string]error{settings.Prefix + "TLS_CERT_FILE": ofCertificate, settings.Prefix + "TLS_KEY_FILE": ofKey} {
		if err != nil {
			fs.Add(name, err.Error()+"; allowed: "+settings.Allowed[name])
		}
	}
	c.certificate = pair
}

// tlsConfig returns nil without a certificate. ServeTLS adds HTTP/2.
func (c configuration) tlsConfig() *tls.Config {
	if c.certificate == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.certificate.Get}
}

// warn adds warnings of settings that are allowed but may be mistakes.
func (c *configuration) warn() {
	if c.teams != nil {
		for _, text := range c.teams.Warnings() {
			c.warnings = append(c.warnings, settings.Prefix+"TEAMS_FILE: "+text)
		}
		c.warnings = append(c.warnings, shutOut(c.Settings, c.teams, teams.OwnerFile)...)
	}
	for _, secret := range []struct{ name, path string }{
		{"UPSTREAM_KEY_FILE", c.UpstreamKeyFile},
		{"REDIS_URL_FILE", c.RedisURLFile},
		{"TLS_KEY_FILE", c.TLSKeyFile},
		{"CONSOLE_TOKEN_FILE", c.ConsoleTokenFile},
		{"OIDC_CLIENT_SECRET_FILE", c.OIDCClientSecretFile},
		{"UPSTREAM_PROXY_FILE", c.UpstreamProxyFile},
	} {
		if files.IsOpen(secret.path) {
			c.warnings = append(c.warnings, settings.Prefix+secret.name+": every user of this machine can read the file; chmod o-r")
		}
	}
	if c.AccountsFile != "" && c.Upstream.File != nil {
		for _, text := range c.Upstream.Warnings(c.teams) {
			c.warnings = append(c.warnings, settings.Prefix+"ACCOUNTS_FILE: "+text)
		}
	}
	most, open := files.Allowed(), uint64(max(c.MaxConnections, 0))+settings.OwnFiles
	u, adminHost := c.UpstreamURL, hostIn(c.AdminListen)
	byLink, otherwise := c.OperatorsEnter()
	for _, w := range []struct {
		mistake bool
		text    string
	}{
		{open > most, fmt.Sprintf("MAX_CONNECTIONS: this process may open %d files, too few for %d connections of clients, those to upstream "+
			"and its own; raise the limit of open files or lower the setting", most, c.MaxConnections)},
		{
			c.AccountsFile != "" && (c.UpstreamKey != "" || c.UpstreamKeyFile != ""),
			"UPSTREAM_KEY: not used, because the accounts file names the accounts and their keys",
		},
		{
			c.AccountsFile != "" && c.teams != nil && c.teams.Account != nil,
			"TEAMS_FILE: its account is not used, because the accounts file has the rates of each account",
		},
		{
			c.NoProxy != "" && c.UpstreamProxy == "" && c.UpstreamProxyFile == "",
			"NO_PROXY: not used, because no proxy is set; UPSTREAM_PROXY sets one",
		},
		{c.RedisURL == "", "REDIS_URL: not set, so quotas and tasks live in this process's memory and are lost when it ends"},
		{c.RedisURL != "" && c.DirectoryFile != "", "DIRECTORY_FILE: not used, because the directory is in Redis"},
		{c.RedisURL == "" && c.StateDir != "", "STATE_DIR: not used, because the directory is not in Redis"},
		{
			c.ConsoleListen == settings.ConsoleOff && (c.ConsoleURL != "" || c.ConsoleTokenFile != "" || c.OIDCIssuer != ""),
			"CONSOLE_LISTEN: off, so the other settings of the console are not used",
		},
		{
			c.ConsoleListen != settings.ConsoleOff && !byLink && !otherwise,
			"CONSOLE_TOKEN_FILE: not set, nor OIDC_ISSUER, so no operator can log in to the console; it prints a one-time link only on loopback " +
				"and without CONSOLE_URL",
		},
		{u != nil && u.Scheme == "http" && !settings.IsLoopback(u.Hostname()), "UPSTREAM_URL: http sends the upstream key in clear text"},
		{c.MirrorURL.Insecure && !settings.IsLoopback(c.MirrorURL.Host()), "MIRROR_URL: http sends pictures in clear text"},
		{c.MirrorURL.Dir != "" && c.Replicas > 1, "MIRROR_URL: a folder is of one machine: a replica finds only what itself stored, unless " +
			"all share the folder"},
		{
			c.MirrorURL.String() == "" && c.teams != nil && len(keptFor(c.teams)) > 0,
			"MIRROR_URL: not set, so no pictures are stored, though the teams file has teams with mirror",
		},
		{c.MirrorURL.String() != "" && c.RedisURL == "", "MIRROR_URL: without Redis, pictures that wait are lost when this process ends"},
		{c.AdminPprof && !settings.IsLoopback(adminHost), "ADMIN_PPROF: profiles can contain prompts and keys, and " + settings.Prefix +
			"ADMIN_LISTEN is not loopback"},
		{opaque(c.ForwardPaths), "FORWARD_PATHS: nothing but requests is governed below a path without a form, neither models nor tokens, " +
			"images and spend; give each a form, such as path=native, if its bodies have one"},
		{c.CaptureContent, "CAPTURE_CONTENT: spans that are sent contain prompts and answers"},
	} {
		if w.mistake {
			c.warnings = append(c.warnings, settings.Prefix+w.text)
		}
	}
}

// opaque reports whether there are forwarded paths whose bodies are not read.
func opaque(paths []forms.Path) bool {
	return slices.ContainsFunc(paths, func(p forms.Path) bool { return !p.Form.Governed() })
}

// shutOut warns that an owner's teams without endpoints may no longer use forwarded paths.
func shutOut(s settings.Settings, file *teams.File, owner teams.Owner) []string {
	var ids []string
	for _, team := range file.List {
		if team.Owner == owner && team.Endpoints == nil {
			ids = append(ids, team.ID)
		}
	}
	if !opaque(s.ForwardPaths) || len(ids) == 0 {
		return nil
	}
	return []string{settings.Prefix + "FORWARD_PATHS: these teams have no endpoints, and so no longer may use these paths: " +
		strings.Join(ids, ", ") +
		"; name other in the endpoints of those that shall"}
}
