package console_test

import (
	"context"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
)

func TestLoggingInAndOut(t *testing.T) {
	for _, secure := range []bool{false, true} {
		h := open(t, secure)
		b := h.browser(t)
		got := b.send(t, "GET", "/teams/maps?tab=keys", nil)
		if got.status != http.StatusSeeOther || got.location != "/login?next=%2Fteams%2Fmaps%3Ftab%3Dkeys" {
			t.Fatalf("without a login: %d %s", got.status, got.location)
		}
		if got = b.send(t, "GET", got.location, nil); !strings.Contains(got.body, `value="/teams/maps?tab=keys"`) ||
			!strings.Contains(got.body, `href="/login/oidc?next=%2fteams%2fmaps%3ftab%3dkeys"`) &&
				!strings.Contains(got.body, "/login/oidc?next=%2Fteams%2Fmaps%3Ftab%3Dkeys") {
			t.Errorf("the login page: %s", got.body)
		}
		if got = b.send(t, "POST", "/login", url.Values{"secret": {"wrong"}, "next": {"/teams"}}); got.status != http.StatusUnauthorized ||
			!strings.Contains(got.body, `role="alert"`) || !strings.Contains(got.body, `value="/teams"`) {
			t.Errorf("a wrong secret: %d %s", got.status, got.body)
		}
		if got = b.send(t, "POST", "/login", url.Values{"secret": {" " + mapsKey + "\r\n"}, "next": {"/teams"}}); got.location != "/teams" {
			t.Fatalf("a team's key: %d %s", got.status, got.body)
		}
		if got = b.send(t, "GET", "/teams", nil); got.body != "key:mapsmapsmaps GET /teams" {
			t.Errorf("logged in: %d %s", got.status, got.body)
		}
		cookie := b.cookie(t)
		if got = b.send(t, "POST", "/logout", url.Values{}); got.location != "/login" || b.cookie(t).Value != "" {
			t.Errorf("log out: %d %s", got.status, got.location)
		}
		if got = b.send(t, "GET", "/teams", nil, "Cookie: "+cookie.Name+"="+cookie.Value); got.status != http.StatusSeeOther {
			t.Errorf("the cookie after the logout: %d", got.status)
		}
	}
}

func TestCookiesAreForThisHostAlone(t *testing.T) {
	for secure, want := range map[bool]string{
		true:  "__Host-sluice-session=*; Path=/; HttpOnly; Secure; SameSite=Lax",
		false: "sluice-session=*; Path=/; HttpOnly; SameSite=Lax",
	} {
		h := open(t, secure)
		line := h.browser(t).send(t, "POST", "/login", url.Values{"secret": {token}}).header.Get("Set-Cookie")
		name, rest, _ := strings.Cut(line, "=")
		_, rest, _ = strings.Cut(rest, ";")
		if got := name + "=*;" + rest; got != want {
			t.Errorf("secure %v: %s", secure, got)
		}
	}
	h := open(t, false, func(d *console.Deps) { d.URL = &url.URL{Scheme: "https", Host: "console.example"} })
	line := h.browser(t).send(t, "POST", "/login", url.Values{"secret": {token}}, "Host: console.example").header.Get("Set-Cookie")
	if !strings.HasPrefix(line, "__Host-") {
		t.Errorf("behind a proxy with TLS: %s", line)
	}
}

func TestALinkLogsIn(t *testing.T) {
	h := open(t, false)
	code := h.control.NewLink()
	b := h.browser(t)
	for _, ahead := range []answer{
		b.send(t, "GET", "/login?code="+code, nil, "Sec-Purpose: prefetch;prerender"),
		b.send(t, "HEAD", "/login?code="+code, nil),
	} {
		if ahead.status != http.StatusServiceUnavailable {
			t.Errorf("ahead of time: %d", ahead.status)
		}
	}
	if got := b.send(t, "GET", "/login?code="+code, nil); got.location != "/" || got.status != http.StatusSeeOther {
		t.Errorf("the link: %d %s", got.status, got.location)
	}
	if got := b.send(t, "GET", "/", nil); got.body != "link GET /" {
		t.Errorf("then: %d %s", got.status, got.body)
	}
	if got := h.browser(t).send(t, "GET", "/login?code="+code, nil); got.status != http.StatusUnauthorized {
		t.Errorf("the second time: %d", got.status)
	}
}

func TestHowTheUnknownAreAnswered(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	for about, tt := range map[string]struct {
		method, path, header string
		status               int
		name, value          string // a header of the answer
	}{
		"a page":                {"GET", "/teams", "X-No: x", 303, "Location", "/login?next=%2Fteams"},
		"the first page":        {"GET", "/", "X-No: x", 303, "Location", "/login"},
		"a form":                {"POST", "/teams", "X-No: x", 401, "Content-Type", "text/html; charset=utf-8"},
		"the API":               {"GET", "/api/v1/me", "X-No: x", 401, "Content-Type", "application/problem+json"},
		"the API, by a program": {"GET", "/api/v1/me", "Authorization: Bearer x", 401, "WWW-Authenticate", `Bearer realm="sluice console"`},
		"a part of a page":      {"GET", "/teams", "HX-Request: true", 401, "HX-Redirect", "/login"},
		"a stream":              {"GET", "/live", "Sec-Fetch-Dest: empty", 401, "Location", ""},
		"an asset":              {"GET", "/assets/x", "X-No: x", 200, "Location", ""},
		"a wrong method":        {"DELETE", "/login", "X-No: x", 405, "Allow", "GET, POST"},
		"logout by a link":      {"GET", "/logout", "X-No: x", 405, "Allow", "POST"},
	} {
		got := b.send(t, tt.method, tt.path, nil, tt.header)
		if got.status != tt.status || got.header.Get(tt.name) != tt.value {
			t.Errorf("%s: %d, %s %q, want %d and %q", about, got.status, tt.name, got.header.Get(tt.name), tt.status, tt.value)
		}
		if !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'") ||
			strings.Contains(got.header.Get("Content-Security-Policy"), "unsafe") || got.header.Get("Cache-Control") != "no-store" ||
			got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("X-Frame-Options") != "DENY" ||
			got.header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: the answer lacks a header: %v", about, got.header)
		}
	}
	if got := b.send(t, "GET", "/api/v1/me", nil); got.body != `{"title":"Unauthorized","status":401,"detail":"Send the console's token,`+
		` or the cookie of a session that lasts.","code":"login"}`+"\n" {
		t.Errorf("the problem: %s", got.body)
	}
	for range 25 {
		b.send(t, "POST", "/login", url.Values{"secret": {"guess"}})
	}
	if got := b.send(t, "POST", "/login", url.Values{"secret": {"guess"}}); got.status != http.StatusTooManyRequests ||
		got.header.Get("Retry-After") != "600" {
		t.Errorf("after many attempts: %d %v", got.status, got.header)
	}
	b.login(t)
}

// TestCookiesOfNoSession are answered twenty times a minute, for pages and programs; a valid cookie and the login page always.
func TestCookiesOfNoSession(t *testing.T) {
	h := open(t, false)
	right, stranger := h.browser(t), h.browser(t)
	right.login(t)
	const cookie = "Cookie: sluice-session=AAAA"
	for range 20 {
		if got := stranger.send(t, "GET", "/teams", nil, cookie); got.status != http.StatusSeeOther {
			t.Fatalf("at first: %d", got.status)
		}
	}
	for path, kind := range map[string]string{"/teams": "text/plain; charset=utf-8", "/api/v1/me": "application/problem+json"} {
		if got := stranger.send(t, "GET", path, nil, cookie); got.status != http.StatusTooManyRequests ||
			got.header.Get("Retry-After") != "60" || got.header.Get("Content-Type") != kind {
			t.Errorf("%s then: %d %v", path, got.status, got.header)
		}
	}
	if got := stranger.send(t, "GET", "/login", nil, cookie); got.status != http.StatusOK {
		t.Errorf("the login page: %d", got.status)
	}
	if got := right.send(t, "GET", "/teams", nil); got.body != "token GET /teams" {
		t.Errorf("a right cookie from there: %d %s", got.status, got.body)
	}
}

func TestSessionsPage(t *testing.T) {
	h := open(t, false)
	operator, member := h.browser(t), h.browser(t)
	operator.login(t)
	member.send(t, "POST", "/login", url.Values{"secret": {mapsKey}})
	id := access.SessionID(member.cookie(t).Value)
	if got := operator.send(t, "GET", "/sessions", nil); !strings.Contains(got.body, id) ||
		!strings.Contains(got.body, `<bdi class="name">token</bdi> <small class="own">this browser</small>`) {
		t.Errorf("the operator's page: %s", got.body)
	}
	operators := access.SessionID(operator.cookie(t).Value)
	if got := member.send(t, "GET", "/sessions", nil); strings.Contains(got.body, operators) || !strings.Contains(got.body, id) {
		t.Errorf("the member's page: %s", got.body)
	}
	foreign := member.send(t, "POST", "/sessions/end", url.Values{"id": {operators}})
	unknown := member.send(t, "POST", "/sessions/end", url.Values{"id": {"unknown"}})
	if foreign.status != http.StatusNotFound || foreign.body != unknown.body || unknown.status != foreign.status {
		t.Errorf("a foreign session %d %s, an unknown one %d %s", foreign.status, foreign.body, unknown.status, unknown.body)
	}
	if got := operator.send(t, "POST", "/sessions/end", url.Values{"id": {id}}); got.location != "/sessions" {
		t.Errorf("revoke: %d %s", got.status, got.body)
	}
	if got := member.send(t, "GET", "/teams", nil); got.status != http.StatusSeeOther {
		t.Errorf("the revoked session: %d", got.status)
	}
}

func TestTheLooksCanBeReplaced(t *testing.T) {
	looks := template.Must(template.New("login").Parse(`<html>{{.Problem}}|{{.Next}}|{{.SignOn}}`))
	h := open(t, false, func(d *console.Deps) { d.Templates = looks })
	b := h.browser(t)
	if got := b.send(t, "GET", "/login?next=/x", nil); got.body != "<html>|/x|/login/oidc?next=%2Fx" {
		t.Errorf("%s", got.body)
	}
	b.login(t)
	if got := b.send(t, "GET", "/sessions", nil); got.status != http.StatusInternalServerError || strings.Contains(got.body, "template") {
		t.Errorf("a template that is missing: %d %s", got.status, got.body)
	}
}

// TestStreamsEndWithTheirSession: an open stream notices that its session was revoked or has ended, or that the process stops.
func TestStreamsEndWithTheirSession(t *testing.T) {
	for about, end := range map[string]func(c *access.Control, secret string, stop func()){
		"logged out": func(c *access.Control, secret string, _ func()) { _ = c.End(context.Background(), secret) },
		"idle":       func(*access.Control, string, func()) {},
		"idle, in a browser that does not say what it loads": func(*access.Control, string, func()) {},
		"the process ends": func(_ *access.Control, _ string, stop func()) { stop() },
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping, stop := context.WithCancel(t.Context())
				control := access.New(access.Deps{
					Now: time.Now, Shared: access.NewMemory(time.Now), Teams: oneTeam{}, Log: discard, Token: tokenDigest,
				})
				secret, err := control.Login(t.Context(), access.Visitor{Client: "127.0.0.1"}, token)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				handler := console.New(console.Deps{
					Access: control, Log: discard, Stopping: stopping, Client: func(*http.Request) string { return "127.0.0.1" },
					Pages: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
				})
				time.AfterFunc(time.Minute, func() { end(control, secret, stop) })
				request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/live", nil)
				request.Header.Set("Accept", "text/event-stream")
				if about != "idle, in a browser that does not say what it loads" {
					request.Header.Set("Sec-Fetch-Dest", "empty")
				}
				request.Header.Set("Cookie", "sluice-session="+secret)
				handler.ServeHTTP(httptest.NewRecorder(), request)
				most := 66 * time.Second
				if strings.HasPrefix(about, "idle") {
					most = time.Hour + 6*time.Second
				}
				if lasted := time.Since(begun); lasted < time.Minute || lasted > most {
					t.Errorf("the stream ended after %v", lasted)
				}
				stop()
			})
		})
	}
}
