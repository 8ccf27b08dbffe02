package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/gateway"
	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// inForce has the teams in force, of file and directory, and the service's key, which may sign the console's sessions.
type inForce struct {
	file atomic.Pointer[teams.File]
	key  atomic.Pointer[gateway.Secret]
}

// OfKey implements [access.Teams].
func (f *inForce) OfKey(presented string) (team, key string, ok bool) {
	t, k, ok := f.file.Load().Lookup(presented, time.Now())
	if !ok {
		return "", "", false
	}
	return t.ID, k.ID, true
}

// Digest implements [access.Teams].
func (f *inForce) Digest(team, key string) (digest [sha256.Size]byte, ok bool) {
	t := f.file.Load().Team(team)
	if t == nil || t.Disabled {
		return digest, false
	}
	i := slices.IndexFunc(t.Keys, func(k teams.Key) bool { return k.ID == key })
	if i < 0 || t.Keys[i].Disabled || !t.Keys[i].Expires.IsZero() && !time.Now().Before(t.Keys[i].Expires) {
		return digest, false
	}
	return t.Keys[i].SHA256, true
}

// OfMembers implements [access.Teams].
func (f *inForce) OfMembers(groups []string, email string) (ids []string) {
	for _, team := range f.file.Load().List {
		if slices.ContainsFunc(team.Members, func(m string) bool { return access.Names(m, groups, email) }) {
			ids = append(ids, team.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// tokenEvery is the time between two looks at the token's file.
const tokenEvery = time.Second

// consoleToken is the operator's token in a file. A file that becomes faulty changes nothing: its last token stays.
type consoleToken struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	looked time.Time
	digest [sha256.Size]byte
	set    bool
	faulty bool
}

// sha256 returns the token's SHA-256. set is false if there never was one.
func (c *consoleToken) sha256() (digest [sha256.Size]byte, set bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.path != "" && now.Sub(c.looked) >= tokenEvery {
		c.looked = now
		c.look()
	}
	return c.digest, c.set
}

func (c *consoleToken) look() {
	digest, err := readToken(c.path)
	if err == nil {
		c.digest, c.set = digest, true
	} else if !c.faulty {
		c.log.Warn("console", "warning", prefix+"CONSOLE_TOKEN_FILE: "+err.Error()+"; the token before it stays")
	}
	c.faulty = err != nil
}

// signing returns the secret that signs the sessions in Redis: the first that the configuration has of the token, the client's
// secret at the issuer, and the upstream key. All replicas have the same, and Redis has none of them.
func (c *consoleToken) signing(client gateway.Secret, upstream *atomic.Pointer[gateway.Secret]) func() []byte {
	return func() []byte {
		if digest, set := c.sha256(); set {
			return digest[:]
		}
		if client != "" {
			return []byte(client.Reveal())
		}
		return []byte(upstream.Load().Reveal())
	}
}

// defaultConsole is the CONSOLE_LISTEN of a process that sets none.
const defaultConsole = "127.0.0.1:8082"

// consoleOff is the CONSOLE_LISTEN of a process without a console.
const consoleOff = "off"

// The minimal lengths of the operator's token, for base64 and for hexadecimal digits: 128 bits each. It must be strong because
// guesses are not throttled enough to delay a correct one.
const (
	leastToken    = 22
	leastHexToken = 32
)

var errToken = errors.New("the token is not one line of visible ASCII characters")

// validateConsole checks the settings of the console, which depend on each other.
func (s *settings) validateConsole(fs *faults) {
	host, _, _ := net.SplitHostPort(s.ConsoleListen)
	url := s.consoleURL()
	fs.require([]requirement{
		{"CONSOLE_LISTEN", s.ConsoleListen == consoleOff || isAddress(s.ConsoleListen) && !s.consoleCollides()},
		{"CONSOLE_URL", url == nil || url.Scheme == "https" || url.Scheme == "http" && isLoopback(url.Hostname())},
		{"CONSOLE_URL", url != nil || !isAddress(s.ConsoleListen) || isLoopback(host)},
		{"CONSOLE_URL", url != nil || s.OIDCIssuer == ""},
		{"OIDC_ISSUER", isIssuer(s.OIDCIssuer)},
		{"OIDC_CLIENT_ID", (s.OIDCClientID != "") == (s.OIDCIssuer != "")},
		{"OIDC_CLIENT_SECRET", s.OIDCClientSecret == "" || s.OIDCClientSecretFile != "" || s.OIDCIssuer != "" && files.IsKey(s.OIDCClientSecret)},
		{"OIDC_CLIENT_SECRET_FILE", s.OIDCClientSecretFile == "" || s.OIDCIssuer != "" && (s.OIDCClientSecret == "" || files.IsKey(s.OIDCClientSecret))},
		{"OIDC_OPERATORS", len(s.OIDCOperators) == 0 || s.OIDCIssuer != ""},
		{"OIDC_VIEWERS", len(s.OIDCViewers) == 0 || s.OIDCIssuer != ""},
	})
	if s.ConsoleTokenFile != "" {
		if _, err := readToken(s.ConsoleTokenFile); err != nil {
			fs.add(prefix+"CONSOLE_TOKEN_FILE", err.Error()+"; allowed: "+allowed[prefix+"CONSOLE_TOKEN_FILE"])
		}
	}
}

// consoleCollides reports whether another listener has the console's address. For the default address that is no fault: the
// console, newer than the other two, is left out.
func (s *settings) consoleCollides() bool {
	own := s.ConsoleListen
	return (own == s.Listen || own == s.AdminListen) && !freePort(own) && own != defaultConsole
}

// consoleURL is the console's address for browsers, nil if it is not set.
func (s *settings) consoleURL() *url.URL {
	if s.ConsoleURL == "" {
		return nil
	}
	u, err := url.Parse(string(s.ConsoleURL))
	if err != nil {
		return nil // it does not happen: an origin was read
	}
	return u
}

// isIssuer is strict about the end, because tokens repeat the address letter for letter.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

// readToken returns the SHA-256 of the token in a file.
func readToken(path string) (digest [sha256.Size]byte, err error) {
	secret, err := files.Secret(path)
	switch {
	case err != nil:
		return digest, err
	case !files.IsKey(secret):
		return digest, errToken
	}
	least, what := leastToken, "characters"
	if strings.Trim(secret.Reveal(), "0123456789abcdefABCDEF") == "" {
		least, what = leastHexToken, "hexadecimal digits"
	}
	if n := len(secret.Reveal()); n < least {
		return digest, fmt.Errorf("the token has %d %s and can be guessed; make one with: head -c 32 /dev/urandom | base64", n, what)
	}
	return sha256.Sum256([]byte(secret.Reveal())), nil
}
