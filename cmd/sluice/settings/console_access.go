package settings

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"sluice/cmd/sluice/files"
)

// DefaultConsole is the CONSOLE_LISTEN of a process that sets none.
const DefaultConsole = "127.0.0.1:8082"

// ConsoleOff is the CONSOLE_LISTEN of a process without a console.
const ConsoleOff = "off"

// The minimal lengths of the operator's token, for base64 and for hexadecimal digits: 128 bits each. It must be strong, because guesses
// are throttled only so far that a correct token is never delayed.
const (
	leastToken    = 22
	leastHexToken = 32
)

var errToken = errors.New("the token is not one line of visible ASCII characters")

// validateConsole checks the settings of the console, which depend on each other.
func (s *Settings) validateConsole(fs *Faults) {
	host, _, _ := net.SplitHostPort(s.ConsoleListen)
	url := s.ConsoleAddress()
	fs.require([]requirement{
		{"CONSOLE_LISTEN", s.ConsoleListen == ConsoleOff || isAddress(s.ConsoleListen) && !s.consoleCollides()},
		{"CONSOLE_URL", url == nil || url.Scheme == "https" || url.Scheme == "http" && IsLoopback(url.Hostname())},
		{"CONSOLE_URL", url != nil || !isAddress(s.ConsoleListen) || IsLoopback(host)},
		{"CONSOLE_URL", url != nil || s.OIDCIssuer == ""},
		{"OIDC_ISSUER", isIssuer(s.OIDCIssuer)},
		{"OIDC_CLIENT_ID", (s.OIDCClientID != "") == (s.OIDCIssuer != "")},
		{"OIDC_CLIENT_SECRET", s.OIDCClientSecret == "" || s.OIDCClientSecretFile != "" || s.OIDCIssuer != "" && files.IsKey(s.OIDCClientSecret)},
		{"OIDC_CLIENT_SECRET_FILE", s.OIDCClientSecretFile == "" ||
			s.OIDCIssuer != "" && (s.OIDCClientSecret == "" || files.IsKey(s.OIDCClientSecret))},
		{"OIDC_OPERATORS", len(s.OIDCOperators) == 0 || s.OIDCIssuer != ""},
		{"OIDC_VIEWERS", len(s.OIDCViewers) == 0 || s.OIDCIssuer != ""},
	})
	if s.ConsoleTokenFile != "" {
		if _, err := ReadToken(s.ConsoleTokenFile); err != nil {
			fs.Add(Prefix+"CONSOLE_TOKEN_FILE", err.Error()+"; allowed: "+Allowed[Prefix+"CONSOLE_TOKEN_FILE"])
		}
	}
}

// consoleCollides reports whether another listener has the console's address. For the default address that is no fault: then there is
// no console, because the setting is newer than the other two.
func (s *Settings) consoleCollides() bool {
	own := s.ConsoleListen
	return (own == s.Listen || own == s.AdminListen) && !freePort(own) && own != DefaultConsole
}

// ConsoleAddress returns the console's address for browsers; nil if it is not set.
func (s *Settings) ConsoleAddress() *url.URL {
	if s.ConsoleURL == "" {
		return nil
	}
	u, err := url.Parse(string(s.ConsoleURL))
	if err != nil {
		return nil // unreachable: ConsoleURL is a parsed origin
	}
	return u
}

// OperatorsEnter returns how operators log in to the console: by a one-time link, otherwise by token or issuer, if there is either.
func (s *Settings) OperatorsEnter() (byLink, otherwise bool) {
	host, _, _ := net.SplitHostPort(s.ConsoleListen)
	otherwise = s.ConsoleTokenFile != "" || s.OIDCIssuer != ""
	return !otherwise && s.ConsoleURL == "" && IsLoopback(host), otherwise
}

// isIssuer refuses any query or fragment, also an empty query, because tokens repeat the address exactly.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Hostname()))
}

// ReadToken returns the SHA-256 of the token in a file.
func ReadToken(path string) (digest [sha256.Size]byte, err error) {
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
