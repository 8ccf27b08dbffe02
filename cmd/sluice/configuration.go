package main

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"

	"sluice/gateway"
	"sluice/policy/teams"
	"sluice/telemetry/otlp"
)

// configuration is all that a start needs: the settings, and what stands in the files they name.
type configuration struct {
	settings
	teams       *teams.File
	certificate *tls.Certificate // nil: no TLS
	first       look             // what teams came from
	warnings    []string         // what is allowed and maybe not meant
}

// loadConfiguration reads all of it and reports every fault at once, as [faults]. What comes with an error is what
// could be read.
func loadConfiguration(environ []string) (configuration, error) {
	s, err := loadSettings(environ)
	c := configuration{settings: s}
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

// judgeTeams reads a teams file and holds it against the upstream key.
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
		return nil, faults{{Name: name, Text: "the upstream key stands in it as a team's; a team that holds it can go around the gateway"}}
	}
	return file, nil
}

// loadCertificate reads the TLS files at the start, so that a wrong one is told of with everything else.
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
