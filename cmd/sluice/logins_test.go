package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/gateway/console"
	"sluice/gateway/console/pages"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

func TestConsoleSettingsDependOnEachOther(t *testing.T) {
	token := write(t, "operators-token-CANARY\n")
	issuer := []string{"SLUICE_OIDC_ISSUER=https://issuer.example", "SLUICE_OIDC_CLIENT_ID=sluice",
		"SLUICE_CONSOLE_URL=https://sluice.example"}
	for about, tt := range map[string]struct {
		environ []string
		faulty  string // the settings at fault
	}{
		"nothing":                        {nil, ""},
		"off":                            {[]string{"SLUICE_CONSOLE_LISTEN=off"}, ""},
		"another port":                   {[]string{"SLUICE_CONSOLE_LISTEN=[::1]:9000"}, ""},
		"a port alone, which is no host": {[]string{"SLUICE_CONSOLE_LISTEN=:8082"}, "SLUICE_CONSOLE_URL"},
		"beyond loopback without a name": {[]string{"SLUICE_CONSOLE_LISTEN=10.0.0.1:8082"}, "SLUICE_CONSOLE_URL"},
		"beyond loopback with a name":    {[]string{"SLUICE_CONSOLE_LISTEN=:8082", "SLUICE_CONSOLE_URL=https://sluice.example:8443"}, ""},
		"a name without TLS":             {[]string{"SLUICE_CONSOLE_URL=http://sluice.example"}, "SLUICE_CONSOLE_URL"},
		"a loopback name without TLS":    {[]string{"SLUICE_CONSOLE_URL=http://localhost:8082"}, ""},
		"an address with a path":         {[]string{"SLUICE_CONSOLE_URL=https://sluice.example/console"}, "SLUICE_CONSOLE_URL"},
		"a name as address":              {[]string{"SLUICE_CONSOLE_LISTEN=localhost"}, "SLUICE_CONSOLE_LISTEN"},
		"the public address":             {[]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:80", "SLUICE_LISTEN=127.0.0.1:80"}, "SLUICE_CONSOLE_LISTEN"},
		"the admin address":              {[]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:8081"}, "SLUICE_CONSOLE_LISTEN"},
		"a system's port each":           {[]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_LISTEN=127.0.0.1:0"}, ""},
		"another listener at the default": {
			[]string{"SLUICE_ADMIN_LISTEN=127.0.0.1:8082"}, "",
		},
		"a token":       {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + token}, ""},
		"a short token": {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + write(t, "CANARY")}, "SLUICE_CONSOLE_TOKEN_FILE"},
		"two lines": {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + write(t, "operators-token-CANARY\noperators-token-CANARY")},
			"SLUICE_CONSOLE_TOKEN_FILE"},
		"no file":   {[]string{"SLUICE_CONSOLE_TOKEN_FILE=/CANARY"}, "SLUICE_CONSOLE_TOKEN_FILE"},
		"an issuer": {issuer, ""},
		"an issuer with all": {append(issuer, "SLUICE_OIDC_CLIENT_SECRET=s-CANARY",
			"SLUICE_OIDC_OPERATORS=platform, Leute der Plattform", "SLUICE_OIDC_VIEWERS=a@b.example"), ""},
		"its secret in a file": {append(issuer, "SLUICE_OIDC_CLIENT_SECRET_FILE="+token), ""},
		"its secret twice": {append(issuer, "SLUICE_OIDC_CLIENT_SECRET_FILE="+token, "SLUICE_OIDC_CLIENT_SECRET=s-CANARY"),
			"SLUICE_OIDC_CLIENT_SECRET_FILE"},
		"an issuer that is not secured": {append(issuer[1:], "SLUICE_OIDC_ISSUER=http://issuer.example"), "SLUICE_OIDC_ISSUER"},
		"an issuer on loopback":         {append(issuer[1:], "SLUICE_OIDC_ISSUER=http://127.0.0.1:5556/dex"), ""},
		"an issuer with a query":        {append(issuer[1:], "SLUICE_OIDC_ISSUER=https://issuer.example?CANARY"), "SLUICE_OIDC_ISSUER"},
		"an issuer alone":               {issuer[:1], "SLUICE_CONSOLE_URL SLUICE_OIDC_CLIENT_ID"},
		"everything but the issuer": {
			append(issuer[1:], "SLUICE_OIDC_CLIENT_SECRET=s-CANARY", "SLUICE_OIDC_OPERATORS=platform", "SLUICE_OIDC_VIEWERS=audit"),
			"SLUICE_OIDC_CLIENT_ID SLUICE_OIDC_CLIENT_SECRET SLUICE_OIDC_OPERATORS SLUICE_OIDC_VIEWERS",
		},
		"an empty group": {append(issuer, "SLUICE_OIDC_OPERATORS=a,,b"), "SLUICE_OIDC_OPERATORS"},
	} {
		fs := faultsOf(t, with(tt.environ...))
		if got := strings.Join(slices.Sorted(maps.Keys(fs)), " "); got != tt.faulty {
			t.Errorf("%s: faults %v, want %q", about, fs, tt.faulty)
		}
		for _, text := range fs {
			if strings.Contains(text, "CANARY") {
				t.Errorf("%s: %s quotes a value", about, text)
			}
		}
	}
}

// TestTheTokenIsTooLongToGuess: wrong tokens never delay a right one, so a short token is a fault, which explains how to make a
// better one.
func TestTheTokenIsTooLongToGuess(t *testing.T) {
	for text, fault := range map[string]string{
		"operators-CANARY-token": "",
		"operators-CANARY-toke": "the token has 21 characters and can be guessed; make one with: head -c 32 /dev/urandom | " +
			"base64; allowed: ",
		"0123456789abcdefABCDEF9876543210": "",
		"0123456789abcdefABCDEF987654321": "the token has 31 hexadecimal digits and can be guessed; make one with: head -c 32 " +
			"/dev/urandom | base64; allowed: ",
		"operators CANARY token, longer": "the token is not one line of visible ASCII characters; allowed: ",
	} {
		given := faultsOf(t, with("SLUICE_CONSOLE_TOKEN_FILE="+write(t, text)))["SLUICE_CONSOLE_TOKEN_FILE"]
		if !strings.HasPrefix(given, fault) || (given == "") != (fault == "") {
			t.Errorf("%s: %q, want %q", text, given, fault)
		}
		if fault != "" && !strings.HasSuffix(given, "at least 22 visible ASCII characters, or of at least 32 hexadecimal digits") {
			t.Errorf("%s: %q does not say what is allowed", text, given)
		}
	}
}

// TestWhatSignsSessions: the token takes precedence over the client's secret, and that over the upstream key. Both secrets may change at
// run time; a file that cannot be read leaves the secret that was read last.
func TestWhatSignsSessions(t *testing.T) {
	var key atomic.Pointer[upstream.Secret]
	keys := []upstream.Secret{"first-CANARY", "second-CANARY"}
	key.Store(&keys[0])
	sum := sha256.Sum256([]byte(operatorsToken))
	rotated := write(t, "client-CANARY")
	client, none := rereading(rotated, "client-CANARY"), rereading("", "")
	for want, secret := range map[string]func() []byte{
		string(sum[:]):  (&consoleToken{path: write(t, operatorsToken)}).signing(client, &key),
		"client-CANARY": new(consoleToken).signing(client, &key),
		"first-CANARY":  new(consoleToken).signing(none, &key),
	} {
		if got := secret(); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	key.Store(&keys[1])
	if got := new(consoleToken).signing(none, &key)(); string(got) != "second-CANARY" {
		t.Errorf("%q after the upstream key was replaced", got)
	}
	for _, change := range []func() error{
		func() error { return os.WriteFile(rotated, []byte("rotated-CANARY"), 0o600) }, func() error { return os.Remove(rotated) },
	} {
		must(t, change())
		if got := new(consoleToken).signing(client, &key)(); string(got) != "rotated-CANARY" {
			t.Errorf("%q after the client's secret was replaced", got)
		}
	}
}

func TestTheConsolesTeamsAreThoseOfTheGateway(t *testing.T) {
	key := func(id, secret, more string) string {
		return fmt.Sprintf("      - {id: %s, sha256: %x%s}\n", id, sha256.Sum256([]byte(secret)), more)
	}
	file, err := teams.Parse([]byte("teams:\n  - id: maps\n    members: [map-people, Alice@Example.com]\n    keys:\n" +
		key("aaaaaaaaaaaa", "good", "") + key("bbbbbbbbbbbb", "expired", ", expires: 2020-01-01T00:00:00Z") +
		key("cccccccccccc", "disabled", ", disabled: true") +
		"  - id: closed\n    disabled: true\n    members: [map-people]\n    keys:\n" + key("dddddddddddd", "closed", "")))
	if err != nil {
		t.Fatal(err)
	}
	var c inForce
	c.file.Store(file)
	for _, tt := range []struct {
		secret, team, key string
		works             bool
	}{
		{"good", "maps", "aaaaaaaaaaaa", true},
		{"expired", "maps", "bbbbbbbbbbbb", false},
		{"disabled", "maps", "cccccccccccc", false},
		{"closed", "closed", "dddddddddddd", false},
		{"unknown", "maps", "eeeeeeeeeeee", false},
		{"unknown", "unknown", "aaaaaaaaaaaa", false},
	} {
		team, id, ok := c.OfKey(tt.secret)
		if ok != tt.works || ok && (team != tt.team || id != tt.key) {
			t.Errorf("%s belongs to %s, %s, %v", tt.secret, team, id, ok)
		}
		digest, ok := c.Digest(tt.team, tt.key)
		if ok != tt.works || ok && digest != sha256.Sum256([]byte(tt.secret)) {
			t.Errorf("the digest of %s: %x %v", tt.secret, digest, ok)
		}
	}
	for names, want := range map[[2]string][]string{
		{"map-people", "bob@example.com"}: {"closed", "maps"}, {"x", "alice@example.COM"}: {"maps"}, {"MAP-PEOPLE", "example.com"}: nil,
	} {
		if got := c.OfMembers(names[:1], names[1]); !slices.Equal(got, want) {
			t.Errorf("%v are members of %v, want %v", names, got, want)
		}
	}
}

// TestReadinessNamesThePaceOfTheConsole once a program reads faster than it may.
func TestReadinessNamesThePaceOfTheConsole(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	secret := strings.Repeat("operator-", 5)
	must(t, os.WriteFile(token, []byte(secret), 0o600))
	h := serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+token)
	address, client := consoleOf(t, h), newClient(t)
	status := 0
	for range 1000 {
		if status = apiStatus(t, client, address, secret); status != http.StatusNotFound {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("a program that reads on and on: %d", status)
	}
	_, text, err := ask(client, "http://"+h.admin, "/readyz?verbose", "")
	if err != nil || !strings.Contains(text, console.PaceBound) || strings.Contains(text, pages.LiveBound) {
		t.Errorf("readiness: %s, %v", text, err)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
