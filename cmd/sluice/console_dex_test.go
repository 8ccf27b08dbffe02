package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/policy/limit/limittest"
)

// startDex starts a real OpenID Connect issuer. Every login there is Kilgore Trout of the group authors.
func startDex(t *testing.T, redirect string) (address string) {
	t.Helper()
	program, err := exec.LookPath("dex")
	if err != nil {
		if os.Getenv("CI_REQUIRES_DEX") != "" {
			t.Fatal("dex is not installed, and CI requires it")
		}
		t.Skip("dex is not installed; oidctest stands in for it in other tests")
	}
	for range 5 { // another process may take the port meanwhile
		if address, ok := launchDex(t, program, redirect); ok {
			return address
		}
	}
	t.Fatal("dex does not start")
	return ""
}

func launchDex(t *testing.T, program, redirect string) (address string, ok bool) {
	t.Helper()
	port := limittest.FreePort(t)
	address = fmt.Sprintf("http://127.0.0.1:%d/dex", port)
	dex := exec.Command(program, "serve", write(t, fmt.Sprintf(`
issuer: %s
storage: {type: memory}
web: {http: "127.0.0.1:%d"}
oauth2: {skipApprovalScreen: true}
staticClients:
  - {id: sluice, secret: client-secret-CANARY, name: Sluice, redirectURIs: ["%s"]}
connectors:
  - {type: mockCallback, id: mock, name: Mock}
`, address, port, redirect)))
	said := newTranscript()
	dex.Stdout, dex.Stderr = said, said
	must(t, dex.Start())
	over := make(chan struct{})
	go func() { _ = dex.Wait(); close(over) }()
	t.Cleanup(func() { _ = dex.Process.Kill(); <-over })
	client := newClient(t)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get(address + "/.well-known/openid-configuration")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return address, true
			}
		}
		select {
		case <-over:
			return "", false
		default:
		}
	}
	t.Fatalf("dex does not answer; it said\n%s", said.bytes())
	return "", false
}

// dexFront is the one address that the issuer knows for consoles that run one after the other.
type dexFront struct {
	url, issuer string
	target      atomic.Pointer[url.URL] // of the console that runs
}

func newDexFront(t *testing.T) *dexFront {
	t.Helper()
	f := &dexFront{}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(f.target.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(front.Close)
	f.url = front.URL
	f.issuer = startDex(t, f.url+"/login/callback")
	return f
}

// serving starts a gateway whose console signs on at the issuer.
func (f *dexFront) serving(t *testing.T, variables ...string) *house {
	t.Helper()
	h := serving(t, "http://127.0.0.1:1", append([]string{
		"SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_URL=" + f.url,
		"SLUICE_OIDC_ISSUER=" + f.issuer, "SLUICE_OIDC_CLIENT_ID=sluice", "SLUICE_OIDC_CLIENT_SECRET=client-secret-CANARY",
	}, variables...)...)
	f.target.Store(&url.URL{Scheme: "http", Host: find(t, h.log, `"msg":"console","listen":"([^"]+)"`)})
	return h
}

// TestSignOnInABrowser follows the login page's link to the issuer and back.
func TestSignOnInABrowser(t *testing.T) {
	tab := browsertest.New(t)
	front := newDexFront(t)
	h := front.serving(t, "SLUICE_OIDC_OPERATORS=authors")
	browsertest.Open(tab, t, front.url+"/login")
	if status := press(tab, t, `a[href^="/login/oidc"]`, nil); status != http.StatusOK {
		t.Errorf("the login: %d", status)
	}
	if text := textIn(tab, t); !strings.Contains(text, "kilgore@kilgore.trout") || !strings.Contains(text, "operator") {
		t.Errorf("after the login: %s", text)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

func TestSignOnWithDex(t *testing.T) {
	front := newDexFront(t)
	const members = "teams:\n  - id: search\n    members: [authors]\n  - id: ads\n    members: [kilgore@kilgore.trout]\n  - id: maps\n    " +
		"members: [readers]\n"
	for about, tt := range map[string]struct{ setting, says string }{
		"an operator":  {"SLUICE_OIDC_OPERATORS=readers,authors", signedIn("kilgore@kilgore.trout", "operator")},
		"a viewer":     {"SLUICE_OIDC_VIEWERS=Kilgore@Kilgore.Trout", signedIn("kilgore@kilgore.trout", "viewer")},
		"a member":     {"SLUICE_OIDC_OPERATORS=readers", signedIn("kilgore@kilgore.trout", "member")},
		"without role": {"SLUICE_TEAMS_FILE=" + write(t, someTeams), "your groups give you no rights here"},
	} {
		h := front.serving(t, "SLUICE_TEAMS_FILE="+write(t, members), tt.setting)
		browser := newBrowser(t)
		status, body := visitPage(t, browser, front.url+"/login/oidc?"+url.Values{"next": {"/sessions"}}.Encode(), nil)
		if !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s\n%s", about, status, body, h.log.bytes())
		}
		browser.CloseIdleConnections()
		if code := h.stop(); code != exitClean || strings.Contains(string(h.log.bytes()), "CANARY") {
			t.Errorf("exit code %d\n%s", code, h.log.bytes())
		}
	}
}
