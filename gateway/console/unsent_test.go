package console_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
)

// TestAFormWithoutASessionIsKept: its page says that nothing was changed, leads back, and sends the same fields again after a login.
func TestAFormWithoutASessionIsKept(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	b.login(t)
	if err := h.control.End(context.Background(), b.cookie(t).Value); err != nil {
		t.Fatal(err)
	}
	typed := url.Values{"id": {"maps"}, "description": {"a \"<b>\"\nc"}, "endpoints": {"text", "image"}}
	got := b.send(t, "POST", "/teams", typed, "Sec-Fetch-Dest: document")
	for _, want := range []string{
		"Your session has ended. Nothing was changed.", `href="/login?next=%2fnew-team"`, `action="/teams"`, `name="id" value="maps"`,
		`name="description" value="a &#34;&lt;b&gt;&#34;` + "\n" + `c"`, `name="endpoints" value="text"`, `name="endpoints" value="image"`,
		`href="/new-team"`, "Sign in, then come back to it and send it again.",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if got.status != http.StatusUnauthorized || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v: %s", got.status, got.header, got.body)
	}
	if got := b.send(t, "POST", h.URL+"//evil.example/x", typed); strings.Contains(got.body, `action="//`) {
		t.Errorf("the form leads elsewhere: %s", got.body)
	}
	if got := h.browser(t).send(t, "POST", "/teams", typed); strings.Contains(got.body, "has ended") ||
		!strings.Contains(got.body, "You are not signed in. Nothing was changed.") {
		t.Errorf("without a cookie: %s", got.body)
	}
}

// TestAKeptFormLeadsToItsPage, which can be opened and says of no change that it was made, wherever the browser says that it was.
func TestAKeptFormLeadsToItsPage(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	for to, want := range map[string]string{
		"/teams/maps/adjust": "/teams/maps", "/teams/maps/raises": "/teams/maps", "/teams/maps/raises/x/end": "/teams/maps",
		"/teams/maps/state": "/teams/maps", "/teams/maps/remove": "/teams/maps", "/teams/maps/keys": "/teams/maps",
		"/teams/maps/edit": "/teams/maps/edit", "/teams/maps/keys/k/edit": "/teams/maps/keys/k/edit", "/teams/maps/keys/k/state": "/teams/maps",
		"/teams/maps/keys/k%2Fl/rotate?from=key": "/teams/maps/keys/k%2Fl", "/teams/maps/tasks/t/cancel": "/teams/maps/tasks/t",
		"/teams": "/new-team", "/sessions/end": "/sessions", "/else": "/", "//evil.example/x/y/edit": "/",
	} {
		path, from, _ := strings.Cut(to, "?from=")
		for _, referer := range []string{"", h.URL + "/teams/maps?done=adjusted", h.URL + path, "https://evil.example/x"} {
			got := b.send(t, "POST", h.URL+path, url.Values{"from": {from}}, "Referer: "+referer)
			if !strings.Contains(got.body, `<a href="`+want+`">Leave it`) || strings.Contains(got.body, "done=") {
				t.Errorf("%s from %q does not lead to %s: %s", to, referer, want, got.body)
			}
		}
	}
}

// TestALargeFormIsNotKept: its page would be larger still, for anybody.
func TestALargeFormIsNotKept(t *testing.T) {
	h := open(t, false)
	ended, nobody := h.browser(t), h.browser(t)
	ended.login(t)
	if err := h.control.End(context.Background(), ended.cookie(t).Value); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		who   browser
		bytes int
		kept  bool
	}{{ended, 200 << 10, true}, {ended, 300 << 10, false}, {nobody, 10 << 10, true}, {nobody, 20 << 10, false}} {
		got := tt.who.send(t, "POST", "/teams", url.Values{"description": {strings.Repeat("x", tt.bytes)}})
		if tt.kept && got.status != http.StatusUnauthorized ||
			!tt.kept && (got.status != http.StatusSeeOther || got.location != "/login" || len(got.body) > 100) {
			t.Errorf("%d bytes: %d to %q, %d bytes", tt.bytes, got.status, got.location, len(got.body))
		}
	}
}

// TestPagesWhileRedisIsAway: a form is kept, and whom the token let in sees no login page instead of the sessions.
func TestPagesWhileRedisIsAway(t *testing.T) {
	store := &maybe{Store: access.NewMemory(time.Now)}
	h := open(t, false, func(d *console.Deps) {
		d.Access = access.New(access.Deps{Now: time.Now, Shared: store, Teams: oneTeam{}, Token: tokenDigest, Log: slog.New(slog.DiscardHandler)})
	})
	member, operator := h.browser(t), h.browser(t)
	member.send(t, "POST", "/login", url.Values{"secret": {mapsKey}})
	store.away.Store(true)
	got := member.send(t, "POST", "/teams/maps/keys", url.Values{"note": {"for nightly jobs"}})
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "10" ||
		!strings.Contains(got.body, `value="for nightly jobs"`) || !strings.Contains(got.body, "Redis or the issuer is away") ||
		!strings.Contains(got.body, "Wait, and send it again from here.") || strings.Contains(got.body, "come back to it") {
		t.Errorf("a form: %d %s", got.status, got.body)
	}
	operator.login(t)
	for _, got := range []answer{operator.send(t, "GET", "/sessions", nil),
		operator.send(t, "POST", "/sessions/end", url.Values{"id": {"x"}})} {
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "cannot be read") ||
			strings.Contains(got.body, `name="secret"`) || !strings.Contains(got.body, `href="/now"`) {
			t.Errorf("the sessions: %d %s", got.status, got.body)
		}
	}
}

// maybe is a store that may be away.
type maybe struct {
	access.Store
	away atomic.Bool
}

var errGone = errors.New("away")

func (m *maybe) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	if m.away.Load() {
		return errGone
	}
	return m.Store.Put(ctx, kind, name, value, life)
}

func (m *maybe) Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	if m.away.Load() {
		return nil, errGone
	}
	return m.Store.Get(ctx, kind, name, renew)
}

func (m *maybe) Take(ctx context.Context, kind, name string) ([]byte, error) {
	if m.away.Load() {
		return nil, errGone
	}
	return m.Store.Take(ctx, kind, name)
}

func (m *maybe) List(ctx context.Context, kind string) ([][]byte, error) {
	if m.away.Load() {
		return nil, errGone
	}
	return m.Store.List(ctx, kind)
}
