package console_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/gateway/console"
)

// The attacks on logins. Codes, states and forged tokens of the issuer are attacked in access and oidc.

// TestForgedRequestsOfOtherSites: a page of another site makes a browser send requests that the person did not intend.
func TestForgedRequestsOfOtherSites(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	b.login(t)
	for about, headers := range map[string][]string{
		"by Sec-Fetch-Site":        {"Sec-Fetch-Site: cross-site"},
		"a neighbouring name":      {"Sec-Fetch-Site: same-site", "Origin: " + h.URL},
		"by Origin alone":          {"Origin: https://evil.example"},
		"an origin without a name": {"Origin: null"},
		"the console's other port": {"Origin: http://127.0.0.1:1"},
	} {
		for _, path := range []string{"/logout", "/sessions/end", "/login", "/api/v1/teams", "/teams/maps"} {
			if got := b.send(t, "POST", path, url.Values{"secret": {mapsKey}, "id": {"x"}}, headers...); got.status != http.StatusForbidden {
				t.Errorf("%s to %s: %d", about, path, got.status)
			}
		}
	}
	if got := b.send(t, "GET", "/teams", nil); got.body != "token GET /teams" {
		t.Errorf("after the attacks: %d %s", got.status, got.body)
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site: same-origin"}, {"Origin: " + h.URL}, nil} {
		if got := b.send(t, "POST", "/teams", url.Values{}, headers...); got.body != "token POST /teams" {
			t.Errorf("with %v: %d %s", headers, got.status, got.body)
		}
	}
}

// TestForeignHostNames: the attacker's name leads to the console's address, so that the attacker's page may read its answers.
func TestForeignHostNames(t *testing.T) {
	h := open(t, false, func(d *console.Deps) { d.URL = &url.URL{Scheme: "https", Host: "console.example"} })
	b := h.browser(t)
	b.login(t)
	code := h.control.NewLink()
	for _, host := range []string{
		"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "console.example.evil.example", "evilconsole.example", "192.0.2.1",
		"0.0.0.0", "127.0.0.1@evil.example", "[::2]", "console.example.",
	} {
		for _, path := range []string{"/", "/login", "/login?code=" + code, "/login/oidc", "/login/callback", "/api/v1/me", "/assets/x",
			"/sessions"} {
			if got := b.send(t, "GET", path, nil, "Host: "+host); got.status != http.StatusMisdirectedRequest &&
				got.status != http.StatusBadRequest {
				t.Errorf("%s at %s: %d %s", path, host, got.status, got.location)
			}
		}
		if got := b.send(t, "POST", "/login", url.Values{"secret": {token}}, "Host: "+host); got.status != http.StatusMisdirectedRequest &&
			got.status != http.StatusBadRequest {
			t.Errorf("login at %s: %d", host, got.status)
		}
	}
	for _, host := range []string{"localhost:9000", "LOCALHOST", "127.0.0.1", "127.8.8.8:1", "[::1]:8082", "console.example",
		"Console.Example:443"} {
		if got := b.send(t, "GET", "/login", nil, "Host: "+host); got.status != http.StatusOK {
			t.Errorf("the console's own name %s: %d", host, got.status)
		}
	}
	if got := b.send(t, "GET", "/login?code="+code, nil); got.status != http.StatusSeeOther {
		t.Errorf("the link was used up: %d", got.status)
	}
}

// TestSessionFixation: the attacker puts a cookie into the browser, and waits until the person logs in with it.
func TestSessionFixation(t *testing.T) {
	h := open(t, false)
	mallory, victim := h.browser(t), h.browser(t)
	mallory.send(t, "POST", "/login", url.Values{"secret": {mapsKey}})
	planted := mallory.cookie(t)
	address, _ := url.Parse(h.URL)
	for _, value := range []string{planted.Value, strings.Repeat("A", 64)} {
		victim.Jar.SetCookies(address, []*http.Cookie{{Name: planted.Name, Value: value, Path: "/"}})
		victim.login(t)
		if got := victim.cookie(t).Value; got == value || len(got) != 64 {
			t.Errorf("the session went on with the planted cookie")
		}
		if got := victim.send(t, "GET", "/teams", nil); got.body != "token GET /teams" {
			t.Errorf("the victim: %d %s", got.status, got.body)
		}
	}
	if got := mallory.send(t, "GET", "/teams", nil); got.status != http.StatusSeeOther {
		t.Errorf("the planted session lives on: %d %s", got.status, got.body)
	}
	old := victim.cookie(t)
	victim.login(t)
	mallory.Jar.SetCookies(address, []*http.Cookie{{Name: old.Name, Value: old.Value, Path: "/"}})
	if got := mallory.send(t, "GET", "/teams", nil); got.status != http.StatusSeeOther {
		t.Errorf("a session outlives the next login of its browser: %d %s", got.status, got.body)
	}
}

// TestOpenRedirects: a link to the console's own login page must not redirect elsewhere after the login.
func TestOpenRedirects(t *testing.T) {
	h := open(t, false)
	for next, want := range map[string]string{
		"/teams/maps?tab=keys":   "/teams/maps?tab=keys",
		"/":                      "/",
		"":                       "/",
		"//evil.example":         "/",
		"///evil.example":        "/",
		`/\evil.example`:         "/",
		`\\evil.example`:         "/",
		"https://evil.example":   "/",
		"javascript:alert(1)":    "/",
		"/\t/evil.example":       "/",
		"/\n/evil.example":       "/",
		"/%2f/evil.example":      "/",
		"/%5cevil.example":       "/%5cevil.example",
		"evil.example":           "/",
		"/login?code=x":          "/",
		"/logout":                "/",
		"?x":                     "/",
		"http:/evil.example":     "/",
		"/x\r\nSet-Cookie: a=b":  "/",
		"/teams?next=//evil.ex":  "/teams?next=//evil.ex",
		" //evil.example":        "/",
		"/\u2028/evil.example":   "/",
		"//127.0.0.1@evil.ex/%2": "/",
	} {
		b := h.browser(t)
		if got := b.send(t, "POST", "/login", url.Values{"secret": {token}, "next": {next}}); got.location != want {
			t.Errorf("the form's next %q leads to %q, want %q", next, got.location, want)
		}
		b = h.browser(t)
		got := b.send(t, "GET", "/login/oidc?"+url.Values{"next": {next}}.Encode(), nil)
		got = b.send(t, "GET", got.location, nil)
		if got = b.send(t, "GET", got.location, nil); got.location != want {
			t.Errorf("the issuer's next %q leads to %q (%d), want %q", next, got.location, got.status, want)
		}
	}
}

// TestTokenConfusion: a secret of one kind is not accepted as another.
func TestTokenConfusion(t *testing.T) {
	h := open(t, false)
	b, fresh := h.browser(t), h.browser(t)
	b.login(t)
	session := b.cookie(t)
	for about, tt := range map[string]struct {
		who    browser
		path   string
		header string
		status int
	}{
		"the token for the API":               {fresh, "/api/v1/me", "Authorization: Bearer " + token, 200},
		"the scheme in another case":          {fresh, "/api/v1/me", "Authorization: bearer " + token, 200},
		"the token for a page":                {fresh, "/teams", "Authorization: Bearer " + token, 303},
		"a session's cookie for the API":      {b, "/api/v1/me", "X-Nothing: x", 200},
		"a wrong token beside a good cookie":  {b, "/api/v1/me", "Authorization: Bearer wrong", 401},
		"another scheme beside a good cookie": {b, "/api/v1/me", "Authorization: Basic " + token, 401},
		"a session's secret as a token":       {fresh, "/api/v1/me", "Authorization: Bearer " + session.Value, 401},
		"a team's key as a token":             {fresh, "/api/v1/me", "Authorization: Bearer " + mapsKey, 401},
		"the token as a cookie":               {fresh, "/api/v1/me", "Cookie: " + session.Name + "=" + token, 401},
		"the cookie under TLS's name":         {fresh, "/api/v1/me", "Cookie: __Host-sluice-session=" + session.Value, 401},
		"two cookies of that name": {fresh, "/api/v1/me",
			"Cookie: " + session.Name + "=" + session.Value + "; " + session.Name + "=x", 401},
		"the session's public id as its secret": {fresh, "/api/v1/me", "Cookie: " + session.Name + "=" + strings.Repeat("a", 64), 401},
	} {
		if got := tt.who.send(t, "GET", tt.path, nil, tt.header); got.status != tt.status {
			t.Errorf("%s: %d %s, want %d", about, got.status, got.body, tt.status)
		}
	}
}

// TestAReplayedCallback: the address with state and code is in the browser's history.
func TestAReplayedCallback(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	back := b.send(t, "GET", b.send(t, "GET", "/login/oidc", nil).location, nil).location
	if got := h.browser(t).send(t, "GET", back, nil); got.status != http.StatusUnauthorized {
		t.Errorf("in another browser: %d", got.status)
	}
	if got := b.send(t, "GET", back, nil); got.status != http.StatusSeeOther {
		t.Fatalf("in its own: %d %s", got.status, got.body)
	}
	if got := b.send(t, "GET", back, nil); got.status != http.StatusUnauthorized {
		t.Errorf("again: %d", got.status)
	}
	if got := b.send(t, "GET", "/teams", nil); got.body != "oidc:alice GET /teams" {
		t.Errorf("the session: %d %s", got.status, got.body)
	}
}

// TestInjectedMarkup: markup that strangers write into addresses, headers and forms.
func TestInjectedMarkup(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	const markup = `"><script>alert(1)</script>`
	b.send(t, "POST", "/login", url.Values{"secret": {token}}, "User-Agent: "+markup)
	for _, got := range []answer{
		b.send(t, "GET", "/login?next="+url.QueryEscape("/teams"+markup), nil),
		b.send(t, "POST", "/login", url.Values{"secret": {markup}, "next": {"/teams" + markup}}),
		b.send(t, "GET", "/sessions", nil),
		b.send(t, "GET", "/login/callback?error="+url.QueryEscape(markup)+"&error_description="+url.QueryEscape(markup), nil),
	} {
		if strings.Contains(got.body, "<script>") || strings.Contains(got.body, markup) || !strings.Contains(got.body, "<html") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

func TestNoPageAndNoLogHasASecret(t *testing.T) {
	h := open(t, true)
	b := h.browser(t)
	b.login(t)
	secrets := []string{"CANARY", b.cookie(t).Value}
	code := h.control.NewLink()
	b.send(t, "GET", "/login?code="+code, nil)
	secrets = append(secrets, code, b.cookie(t).Value)
	b.send(t, "POST", "/login", url.Values{"secret": {"wrong-CANARY"}})
	b.send(t, "GET", "/login?code=wrong-CANARY", nil)
	b.send(t, "GET", "/sessions", nil)
	b.send(t, "GET", "/api/v1/me", nil, "Authorization: Bearer wrong-CANARY")
	on := b.send(t, "GET", "/login/oidc?next=/x", nil)
	back := b.send(t, "GET", on.location, nil)
	b.send(t, "GET", back.location, nil)
	b.send(t, "GET", back.location, nil)
	b.send(t, "GET", "/sessions", nil)
	secrets = append(secrets, b.cookie(t).Value)
	h.issuer.Lock()
	defer h.issuer.Unlock()
	seen := strings.ReplaceAll(b.seen.String(), back.body, "") // the issuer's own answer
	if len(b.cookie(t).Value) != 64 || !strings.Contains(seen, "Sessions") || !strings.Contains(h.log.String(), "console login refused") {
		t.Fatal("the test did not see what it wanted")
	}
	for _, secret := range append(secrets, h.issuer.Secrets...) {
		if strings.Contains(seen, secret) || strings.Contains(h.log.String(), secret) {
			t.Errorf("%s is in a page or the log:\n%s\n%s", secret, seen, h.log)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	b.login(t)
	large := url.Values{"x": {strings.Repeat("x", 1<<20)}}
	for _, path := range []string{"/login", "/api/v1/teams", "/teams"} {
		if got := b.send(t, "POST", path, large); got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s with a large body: %d", path, got.status)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, io.MultiReader(strings.NewReader(large.Encode())))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got, err := b.Do(request)
		if err != nil {
			continue // the connection was closed while the body was sent
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusRequestEntityTooLarge && got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s with a large body of unknown length: %d", path, got.StatusCode)
		}
	}
}

// TestOtherSitesUseUpNoAttempts: a page of another site can load addresses in its visitors' browsers, and each would count as a
// failed login of their address.
func TestOtherSitesUseUpNoAttempts(t *testing.T) {
	h := open(t, false)
	for _, path := range []string{"/login/callback?state=x&code=y", "/login?code=x", "/login/oidc"} {
		for _, kind := range []string{"image", "iframe", "empty"} {
			for range 21 {
				got := h.browser(t).send(t, "GET", path, nil, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: "+kind)
				if got.status != http.StatusForbidden || got.header.Get("Set-Cookie") != "" {
					t.Fatalf("%s as %s: %d %v", path, kind, got.status, got.header)
				}
			}
		}
	}
	// Following another site's link is a visit, as the issuer's redirect is.
	visitor := h.browser(t)
	on := visitor.send(t, "GET", "/login/oidc?next=/teams", nil)
	back := visitor.send(t, "GET", on.location, nil).location
	for _, headers := range [][]string{
		{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"}, {"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: document"},
		{"Origin: https://evil.example"}, {"Origin: null"},
	} {
		for range 80 {
			for path, status := range map[string]int{"/login/callback?state=x&code=y": http.StatusUnauthorized,
				"/login?code=x": http.StatusUnauthorized, "/login/oidc": http.StatusOK} {
				if got := visitor.send(t, "GET", path, nil, headers...); got.status != status || got.header.Get("Set-Cookie") != "" {
					t.Fatalf("%s with %s: %d %v", path, headers, got.status, got.header)
				}
			}
		}
	}
	for range 20 {
		if got := h.browser(t).send(t, "POST", "/login", url.Values{"secret": {"mistyped"}}); got.status != http.StatusUnauthorized {
			t.Fatalf("an attempt of the visitor: %d", got.status)
		}
	}
	if got := h.browser(t).send(t, "GET", "/login/oidc", nil); got.status != http.StatusSeeOther {
		t.Errorf("another sign-on of the visitor: %d", got.status)
	}
	if got := visitor.send(t, "GET", back, nil, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"); got.location != "/teams" {
		t.Errorf("the issuer's way back: %d %s", got.status, got.body)
	}
}
