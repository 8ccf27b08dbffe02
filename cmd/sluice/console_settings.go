package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// defaultConsole is the CONSOLE_LISTEN of a process that sets none.
const defaultConsole = "127.0.0.1:8082"

// consoleOff is the CONSOLE_LISTEN of a process without a console.
const consoleOff = "off"

// How many characters the operator's token has at least, because guesses are not slowed down so much that a right one waits: of a random one
// in base64, and of one in hexadecimal digits alone. Both are 128 bits.
const (
	leastToken    = 22
	leastHexToken = 32
)

var errToken = errors.New("the token is not one line of visible ASCII characters")

// validateConsole checks the settings of the console, which depend on each other.
func (s *settings) validateConsole(fs *faults) {
	host, _, _ := net.SplitHostPort(s.ConsoleListen)
	url := s.consoleURL()
	for _, check := range []struct {
		name string
		ok   bool
	}{
		{"CONSOLE_LISTEN", s.ConsoleListen == consoleOff || isAddress(s.ConsoleListen) && !s.consoleCollides()},
		{"CONSOLE_URL", url == nil || url.Scheme == "https" || url.Scheme == "http" && isLoopback(url.Hostname())},
		{"CONSOLE_URL", url != nil || !isAddress(s.ConsoleListen) || isLoopback(host)},
		{"CONSOLE_URL", url != nil || s.OIDCIssuer == ""},
		{"OIDC_ISSUER", isIssuer(s.OIDCIssuer)},
		{"OIDC_CLIENT_ID", (s.OIDCClientID != "") == (s.OIDCIssuer != "")},
		{"OIDC_CLIENT_SECRET", s.OIDCClientSecret == "" || s.OIDCClientSecretFile != "" || s.OIDCIssuer != "" && isHeaderSecret(s.OIDCClientSecret)},
		{"OIDC_CLIENT_SECRET_FILE", s.OIDCClientSecretFile == "" || s.OIDCIssuer != "" && (s.OIDCClientSecret == "" || isHeaderSecret(s.OIDCClientSecret))},
		{"OIDC_OPERATORS", len(s.OIDCOperators) == 0 || s.OIDCIssuer != ""},
		{"OIDC_VIEWERS", len(s.OIDCViewers) == 0 || s.OIDCIssuer != ""},
	} {
		if !check.ok {
			fs.add(prefix+check.name, "allowed: "+allowed[prefix+check.name])
		}
	}
	if s.ConsoleTokenFile != "" {
		if _, err := readToken(s.ConsoleTokenFile); err != nil {
			fs.add(prefix+"CONSOLE_TOKEN_FILE", err.Error()+"; allowed: "+allowed[prefix+"CONSOLE_TOKEN_FILE"])
		}
	}
}

// consoleCollides reports whether another listener was given the console's address. By default that is no fault: the console,
// which is newer than the other two, is left out then.
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
	secret, err := readSecret(path)
	switch {
	case err != nil:
		return digest, err
	case !isHeaderSecret(secret):
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
