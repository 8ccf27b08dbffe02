package console_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
)

// Secrets of the tests; no page and no log may have them.
const (
	token   = "operators-CANARY-token"
	mapsKey = "slk_mapsmapsmaps_CANARY"
)

// site is a console and its issuer, both on real sockets.
type site struct {
	*httptest.Server
	control *access.Control
	issuer  *oidctest.Issuer
	log     *lockedBuffer
}

// open starts a console. secure: over TLS.
func open(t *testing.T, secure bool, change ...func(*console.Deps)) *site {
	t.Helper()
	h := &site{log: new(lockedBuffer)}
	h.Server = httptest.NewUnstartedServer(nil)
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	address, err := url.Parse(scheme + h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	h.issuer = oidctest.Start(t)
	h.issuer.Claims = map[string]any{"sub": "alice", "groups": "platform"}
	h.control = access.New(access.Deps{
		Now: time.Now, Shared: access.NewMemory(time.Now), Teams: oneTeam{}, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Groups: access.Groups{Operators: []string{"platform"}}, Token: tokenDigest,
		Issuer: oidc.NewClient(oidc.ClientConfig{
			URL: h.issuer.URL, ClientID: oidctest.ClientID, Secret: oidctest.SecretOfClient, Redirect: address.String() + "/login/callback",
			Now: time.Now,
		}),
	})
	deps := console.Deps{
		Access: h.control, URL: address, Templates: pages.LoginTemplates(), Log: slog.New(slog.NewTextHandler(h.log, nil)),
		API: http.HandlerFunc(echo), Pages: http.HandlerFunc(echo), Assets: http.HandlerFunc(echo),
		Client: func(r *http.Request) string { return strings.Split(r.RemoteAddr, ":")[0] },
	}
	for _, c := range change {
		c(&deps)
	}
	h.Config.Handler = console.New(deps)
	if secure {
		h.StartTLS()
	} else {
		h.Start()
	}
	t.Cleanup(h.Close)
	return h
}

// echo answers with the person and the path.
func echo(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = io.WriteString(w, access.From(r.Context()).Name+" "+r.Method+" "+r.URL.Path)
}

// oneTeam is team maps with its key.
type oneTeam struct{}

func (oneTeam) OfKey(presented string) (team, key string, ok bool) {
	return "maps", "mapsmapsmaps", presented == mapsKey
}

func (oneTeam) Digest(team, _ string) ([sha256.Size]byte, bool) {
	return sha256.Sum256([]byte(mapsKey)), team == "maps"
}

func (oneTeam) OfMembers([]string, string) []string { return nil }

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// browser keeps cookies and shows redirects.
type browser struct {
	*http.Client
	site *site
	seen *bytes.Buffer // all that it got
}

func (h *site) browser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{
		&http.Client{
			Transport: h.Client().Transport, Jar: jar,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}, h, new(bytes.Buffer),
	}
}

// answer is a response.
type answer struct {
	status         int
	body, location string
	header         http.Header
}

// send sends a form, if there is one. Headers are "Name: value"; Host too.
func (b browser) send(t *testing.T, method, path string, form url.Values, headers ...string) answer {
	t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.site.URL + path
	}
	request, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	got, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	b.seen.Write(body)
	return answer{got.StatusCode, string(body), got.Header.Get("Location"), got.Header}
}

// login logs in with the token.
func (b browser) login(t *testing.T) {
	t.Helper()
	if got := b.send(t, "POST", "/login", url.Values{"secret": {token}}); got.status != http.StatusSeeOther {
		t.Fatalf("login: %d %s", got.status, got.body)
	}
}

// cookie is the session's cookie.
func (b browser) cookie(t *testing.T) *http.Cookie {
	t.Helper()
	address, err := url.Parse(b.site.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(address) {
		if strings.HasSuffix(c.Name, "sluice-session") {
			return c
		}
	}
	return &http.Cookie{}
}

var discard = slog.New(slog.DiscardHandler)

func tokenDigest() ([sha256.Size]byte, bool) { return sha256.Sum256([]byte(token)), true }
