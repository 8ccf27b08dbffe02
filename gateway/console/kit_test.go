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
	"sluice/gateway/console/access/issuer"
	"sluice/gateway/console/access/issuertest"
	"sluice/gateway/console/access/store"
	"sluice/gateway/console/pages"
)

// Secrets of the tests; no page and no log may have them.
const (
	token   = "operators-CANARY-token"
	mapsKey = "slk_mapsmapsmaps_CANARY"
)

// house is a console and its issuer, both on real sockets.
type house struct {
	*httptest.Server
	desk   *access.Desk
	issuer *issuertest.Issuer
	store  *store.Memory
	log    *lockedBuffer
}

// open starts a console. secure: over TLS.
func open(t *testing.T, secure bool, change ...func(*console.Deps)) *house {
	t.Helper()
	h := &house{store: store.NewMemory(time.Now), log: new(lockedBuffer)}
	h.Server = httptest.NewUnstartedServer(nil)
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	address, err := url.Parse(scheme + h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	issuing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.issuer.ServeHTTP(w, r) }))
	h.issuer = issuertest.New(issuing.URL, time.Now)
	h.issuer.Claims = map[string]any{"sub": "alice", "groups": "platform"}
	h.desk = h.newDesk(address)
	deps := console.Deps{
		Desk: h.desk, URL: address, Templates: pages.Door(), Log: slog.New(slog.NewTextHandler(h.log, nil)),
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
	t.Cleanup(issuing.Close)
	t.Cleanup(h.Close)
	return h
}

func (h *house) newDesk(address *url.URL) *access.Desk {
	return access.NewDesk(access.Deps{
		Now: time.Now, Shared: h.store, Teams: oneTeam{}, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Groups: access.Groups{Operators: []string{"platform"}},
		Token:  func() ([sha256.Size]byte, bool) { return sha256.Sum256([]byte(token)), true },
		Issuer: issuer.New(issuer.Config{
			URL: h.issuer.URL, ClientID: issuertest.ClientID, Secret: issuertest.ClientSecret, Redirect: address.String() + "/login/callback", Now: time.Now,
		}),
	})
}

// echo answers who asks for what.
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
	house *house
	seen  *bytes.Buffer // all that it got
}

func (h *house) browser(t *testing.T) browser {
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

// answer is what came back.
type answer struct {
	status         int
	body, location string
	header         http.Header
}

// send sends a form, or without one nothing. Headers are "Name: value"; Host too.
func (b browser) send(t *testing.T, method, path string, form url.Values, headers ...string) answer {
	t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.house.URL + path
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
	address, err := url.Parse(b.house.URL)
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

func newStore() *store.Memory { return store.NewMemory(time.Now) }

func tokenDigest() ([sha256.Size]byte, bool) { return sha256.Sum256([]byte(token)), true }
