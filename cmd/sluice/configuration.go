package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sluice/gateway"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// configuration is the settings and the content of the files that they name.
type configuration struct {
	settings
	teams       *teams.File
	certificate *tls.Certificate // nil: no TLS
	first       look             // the content that teams was read from
	door        door             // whether there must be a console
	warnings    []string         // about settings that are allowed but may be mistakes
	counted     error            // why amounts cannot count as the teams file says; nil: they can, or it is not known
	clock       func() time.Time // of accounts in memory; nil: the real one
}

// door says what happens if the console cannot listen at its address.
type door int

const (
	doorMayStayShut door = iota // no console, and a warning: the default console must not stop a gateway
	doorMustOpen                // the process does not start
	doorMayMove                 // the system chooses another port
)

// consoleDoor returns the door that the environment selects: an operator who sets an address wants a console there.
func consoleDoor(environ []string) door {
	for _, assignment := range environ {
		if value, ok := strings.CutPrefix(assignment, prefix+"CONSOLE_LISTEN="); ok && value != "" {
			return doorMustOpen
		}
	}
	return doorMayStayShut
}

// look is the content of the watched files at one moment. Paths are opened anew each time, so that a swapped symbolic link
// is seen.
type look struct {
	teams    []byte
	teamsErr error
	key      gateway.Secret // empty: the key is not in a file
	keyErr   error
}

func lookAt(teamsPath, keyPath string) look {
	var l look
	l.teams, l.teamsErr = readFile(teamsPath)
	if keyPath != "" {
		l.key, l.keyErr = readSecret(keyPath)
	}
	return l
}

// sum identifies a look only by content: on mounted files, times and inodes may not change.
func (l look) sum() [sha256.Size]byte {
	var all []byte
	for _, part := range []string{string(l.teams), fmt.Sprint(l.teamsErr), l.key.Reveal(), fmt.Sprint(l.keyErr)} {
		all = binary.AppendUvarint(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}

// loadConfiguration reads the settings and their files and reports all faults together, as [faults]. With an error it returns
// what could be read.
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
	for _, f := range telemetry.Faults() {
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
		return nil, documentFaults(name, bad)
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

// maxFile bounds every file that is read whole: a wrong path may lead to a huge file.
const maxFile = 16 << 20

var (
	errFileSize = errors.New("is larger than 16 MiB")
	errFileKind = errors.New("is not a regular file")
)

// readSecret reads a file that holds nothing but a secret. One trailing line end is dropped: editors and shells add one.
func readSecret(path string) (gateway.Secret, error) {
	content, err := readFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the file is empty")
	}
	return gateway.Secret(text), nil
}

// readFile reads a regular file; others may have no end. The error leaves out the path, which may be a secret in the wrong
// variable.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO would wait for a writer
	if err != nil {
		return nil, pathless(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, pathless(err)
	case !info.Mode().IsRegular():
		return nil, errFileKind
	case info.Size() > maxFile:
		return nil, errFileSize
	}
	return readAll(file) // it may have grown
}

// readAll reads a whole input of at most maxFile bytes.
func readAll(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, pathless(err)
	case len(content) > maxFile:
		return nil, errFileSize
	}
	return content, nil
}

func pathless(err error) error {
	var bad *fs.PathError
	if errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// warn notes settings that are allowed but may be mistakes.
func (c *configuration) warn() {
	if c.teams != nil {
		for _, text := range c.teams.Warnings() {
			c.warnings = append(c.warnings, prefix+"TEAMS_FILE: "+text)
		}
		c.warnings = append(c.warnings, c.shutOut(c.teams, teams.OwnerFile)...)
	}
	for _, secret := range []struct{ name, path string }{
		{"UPSTREAM_KEY_FILE", c.UpstreamKeyFile},
		{"REDIS_URL_FILE", c.RedisURLFile},
		{"TLS_KEY_FILE", c.TLSKeyFile},
		{"CONSOLE_TOKEN_FILE", c.ConsoleTokenFile},
		{"OIDC_CLIENT_SECRET_FILE", c.OIDCClientSecretFile},
	} {
		if info, err := os.Stat(secret.path); err == nil && info.Mode().Perm()&0o004 != 0 {
			c.warnings = append(c.warnings, prefix+secret.name+": every user of this machine can read the file; chmod o-r")
		}
	}
	files, open := filesAllowed(), uint64(max(c.MaxConnections, 0))+ownFiles
	u, adminHost := c.UpstreamURL, hostIn(c.AdminListen)
	for _, w := range []struct {
		mistake bool
		text    string
	}{
		{open > files, fmt.Sprintf("MAX_CONNECTIONS: this process may open %d files, too few for %d connections of clients, those to upstream and its own; raise the limit of open files or lower the setting", files, c.MaxConnections)},
		{c.RedisURL == "", "REDIS_URL: not set, so quotas and tasks live in this process's memory and are lost when it ends"},
		{c.RedisURL != "" && c.DirectoryFile != "", "DIRECTORY_FILE: not used, because the directory is in Redis"},
		{c.RedisURL == "" && c.StateDir != "", "STATE_DIR: not used, because the directory is not in Redis"},
		{c.ConsoleListen == consoleOff && (c.ConsoleURL != "" || c.ConsoleTokenFile != "" || c.OIDCIssuer != ""), "CONSOLE_LISTEN: off, so the other settings of the console are not used"},
		{u != nil && u.Scheme == "http" && !isLoopback(u.Hostname()), "UPSTREAM_URL: http sends the upstream key in clear text"},
		{c.AdminPprof && !isLoopback(adminHost), "ADMIN_PPROF: profiles can contain prompts and keys, and " + prefix + "ADMIN_LISTEN is not loopback"},
		{c.CaptureContent, "CAPTURE_CONTENT: spans that are sent contain prompts and answers"},
	} {
		if w.mistake {
			c.warnings = append(c.warnings, prefix+w.text)
		}
	}
}

// shutOut warns of forwarded paths that an owner's teams without endpoints used to have and may no longer use.
func (s settings) shutOut(file *teams.File, owner teams.Owner) []string {
	var ids []string
	for _, team := range file.List {
		if team.Owner == owner && team.Endpoints == nil {
			ids = append(ids, team.ID)
		}
	}
	if len(s.ForwardPaths) == 0 || len(ids) == 0 {
		return nil
	}
	return []string{prefix + "FORWARD_PATHS: these teams have no endpoints, and so no longer may use these paths: " + strings.Join(ids, ", ") +
		"; name other in the endpoints of those that shall"}
}
