package main

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"time"

	"sluice/gateway"
	"sluice/policy/teams"
	"sluice/telemetry/otlp"
)

// configuration is the settings and the content of the files that they name.
type configuration struct {
	settings
	teams       *teams.File
	certificate *tls.Certificate // nil: no TLS
	first       look             // the content that teams was read from
	door        door             // whether there must be a console
	warnings    []string         // about settings that are allowed but may be mistakes
	clock       func() time.Time // of what is kept in memory alone; nil: the real one
}

// memoryClock is the clock of what is kept in memory alone.
func (c *configuration) memoryClock() func() time.Time {
	if c.clock == nil {
		return time.Now
	}
	return c.clock
}

// loadConfiguration reads the settings and their files and reports every fault at once, as [faults]. With an error it
// returns what could be read.
func loadConfiguration(environ []string) (configuration, error) {
	s, err := loadSettings(environ)
	c := configuration{settings: s, door: consoleDoor(environ)}
	var fs faults
	_ = errors.As(err, &fs)
	c.first = lookAt(s.TeamsFile, s.UpstreamKeyFile)
	teams, bad := judgeTeams(c.first.teams, c.first.teamsErr, s.UpstreamKey)
	c.teams = teams
	fs = append(fs, bad...)
	c.loadCertificate(&fs)
	for _, f := range otlp.Faults() {
		fs.add(f.Name, f.Text)
	}
	c.warn()
	return c, fs.err()
}

// judgeTeams reads a teams file and refuses one that has the upstream key as a team's key.
func judgeTeams(doc []byte, unreadable error, upstreamKey gateway.Secret) (*teams.File, faults) {
	const name = prefix + "TEAMS_FILE"
	if unreadable != nil {
		return nil, faults{{Name: name, Text: unreadable.Error() + "; allowed: " + allowed[name]}}
	}
	file, err := teams.Parse(doc)
	var bad teams.Faults
	switch {
	case errors.As(err, &bad):
		fs := make(faults, len(bad))
		for i, f := range bad {
			fs[i] = fault{Name: name, Text: f.String(), Mark: f.Caret()}
		}
		return nil, fs
	case err != nil:
		return nil, faults{{Name: name, Text: err.Error()}}
	case upstreamKey != "" && file.HasKey(sha256.Sum256([]byte(upstreamKey.Reveal()))):
		return nil, faults{{Name: name, Text: "a team's key is the upstream key, with which the team can go around the gateway; mint another with sluice key"}}
	}
	return file, nil
}

// loadCertificate reads the TLS files at the start, so that their faults are reported with all others.
func (c *configuration) loadCertificate(fs *faults) {
	if c.TLSCertFile == "" || c.TLSKeyFile == "" {
		return
	}
	read := func(name, path string) []byte {
		content, err := readFile(path)
		if err != nil {
			fs.add(name, err.Error()+"; allowed: "+allowed[name])
		}
		return content
	}
	certificate, key := read(prefix+"TLS_CERT_FILE", c.TLSCertFile), read(prefix+"TLS_KEY_FILE", c.TLSKeyFile)
	if certificate == nil || key == nil {
		return
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		fs.add(prefix+"TLS_CERT_FILE", err.Error()+"; allowed: "+allowed[prefix+"TLS_CERT_FILE"])
		return
	}
	c.certificate = &pair
}

// tlsConfig is nil without a certificate. ServeTLS adds HTTP/2.
func (c configuration) tlsConfig() *tls.Config {
	if c.certificate == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*c.certificate}}
}
