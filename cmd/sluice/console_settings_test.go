package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestConsoleSettingsDependOnEachOther(t *testing.T) {
	token := write(t, "operators-token-CANARY\n")
	issuer := []string{"SLUICE_OIDC_ISSUER=https://issuer.example", "SLUICE_OIDC_CLIENT_ID=sluice", "SLUICE_CONSOLE_URL=https://sluice.example"}
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
		"a token":                       {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + token}, ""},
		"a short token":                 {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + write(t, "CANARY")}, "SLUICE_CONSOLE_TOKEN_FILE"},
		"two lines":                     {[]string{"SLUICE_CONSOLE_TOKEN_FILE=" + write(t, "operators-token-CANARY\noperators-token-CANARY")}, "SLUICE_CONSOLE_TOKEN_FILE"},
		"no file":                       {[]string{"SLUICE_CONSOLE_TOKEN_FILE=/CANARY"}, "SLUICE_CONSOLE_TOKEN_FILE"},
		"an issuer":                     {issuer, ""},
		"an issuer with all":            {append(issuer, "SLUICE_OIDC_CLIENT_SECRET=s-CANARY", "SLUICE_OIDC_OPERATORS=platform, Leute der Plattform", "SLUICE_OIDC_VIEWERS=a@b.example"), ""},
		"its secret in a file":          {append(issuer, "SLUICE_OIDC_CLIENT_SECRET_FILE="+token), ""},
		"its secret twice":              {append(issuer, "SLUICE_OIDC_CLIENT_SECRET_FILE="+token, "SLUICE_OIDC_CLIENT_SECRET=s-CANARY"), "SLUICE_OIDC_CLIENT_SECRET_FILE"},
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
