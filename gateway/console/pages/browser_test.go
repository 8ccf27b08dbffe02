package pages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/pages"
	"sluice/policy/teams"
)

// look is a way to look at a page.
type look struct {
	name   string
	width  int64
	scheme string
}

var looks = []look{{"light", 1280, "light"}, {"dark", 1280, "dark"}, {"narrow", 360, "light"}, {"wide", 2560, "light"}}

// withAxe puts the accessibility checker of SDK_DIR into every page that is opened. It reports false if there is none.
func withAxe(ctx context.Context, t *testing.T) bool {
	t.Helper()
	directory := os.Getenv("SDK_DIR")
	if directory == "" {
		if os.Getenv("CI_REQUIRES_SDKS") != "" {
			t.Fatal("SDK_DIR is not set, and CI requires it")
		}
		t.Log("without axe: SDK_DIR=$(.ci/sdk/install)")
		return false
	}
	script, err := os.ReadFile(filepath.Join(directory, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	every := func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(script)})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Func(every)); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestPagesInABrowser opens the pages of all galleries. None has a violation that axe finds, writes to the browser's console
// (which a broken content policy does), or is wider than its window. With SCREENSHOTS each is drawn, those of a day light, dark and
// narrow, and those that ONLY names in each look.
func TestPagesInABrowser(t *testing.T) {
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	ctx := browsertest.New(t)
	open := opener{ctx: ctx, checked: withAxe(ctx, t), complaints: listen(ctx)}
	for room, g := range galleries() {
		t.Run(room, func(t *testing.T) {
			g.pictures = pictures.URL
			server := httptest.NewServer(scenes(t, g))
			t.Cleanup(server.Close)
			defer browsertest.Open(ctx, t, "about:blank") // live parts end, which the server waits for
			paths := g.paths()
			for _, scene := range []string{"login", "login-plain", "sessions", "minted", "lost", "fault", "unkeyed"} {
				paths[scene] = "/scene/" + scene
			}
			for i, l := range looks {
				l.show(ctx, t)
				for n, name := range sorted(paths) {
					// Each page in one look is enough for a test of every day.
					if wanted(room, name, l) && (drawn(room, l) || i == (n+len(room))%len(looks)) {
						open.page(t, room+"-"+name+"-"+l.name, server.URL+paths[name])
					}
				}
			}
		})
	}
}

// drawn reports whether every page of a room is drawn in a look.
func drawn(room string, l look) bool {
	return os.Getenv("SCREENSHOTS") != "" && (os.Getenv("ONLY") != "" || room == "day" && l.name != "wide")
}

// opener opens pages in a tab.
type opener struct {
	ctx        context.Context
	checked    bool // axe is there
	complaints func() []string
}

// page looks at one page.
func (o *opener) page(t *testing.T, about, address string) {
	t.Helper()
	browsertest.Open(o.ctx, t, address)
	browsertest.Screenshot(o.ctx, t, about)
	for _, fault := range judged(o.ctx, t, o.checked) {
		t.Errorf("%s: %s", about, fault)
	}
	for _, text := range o.complaints() {
		t.Errorf("%s: the browser says %s", about, text)
	}
}

// scenes serves a gallery, and beside its pages what answers a form.
func scenes(t *testing.T, g *gallery) http.Handler {
	t.Helper()
	h, mux := g.handler(operator), http.NewServeMux()
	answer := func(name string, w *httptest.ResponseRecorder) {
		text := w.Body.Bytes()
		mux.HandleFunc("/scene/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(text)
		})
	}
	shown := func(name string, data any) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		if err := pages.Door().ExecuteTemplate(w, name, data); err != nil {
			t.Fatal(err)
		}
		return w
	}
	answer("login", shown("login", loginPage{"This key is not known, or it has ended.", "/", "/login/oidc"}))
	answer("login-plain", shown("login", loginPage{Next: "/"}))
	answer("sessions", shown("sessions", sessionsPage{operator, "operator", []session{
		{ID: "x", Who: operator.Name, Role: "operator", Client: "192.0.2.7", Agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0", Began: noon, Ends: noon.Add(12 * time.Hour), Own: true},
		{ID: "y", Who: "key:7f3k9q2m4x1c", Role: "member", Client: "192.0.2.9", Agent: hostile[0], Began: noon, Ends: noon.Add(12 * time.Hour)},
	}}))
	answer("minted", post(t, h, "/teams/search/keys/7f3k9q2m4x00/rotate", url.Values{"ends": {"day"}}))
	form := url.Values{"version": {"0"}, "rates.requests.limit": {"700"}, "rates.requests.per": {"1m"}, "models": {"llm-*"}, "shadow": {"true"}}
	answer("lost", post(t, h, "/teams/search/edit", form))
	g.refuse = &teams.Problem{Code: teams.CodeInvalid, Field: "rates.requests.per", Text: `got "2ms", allowed: whole seconds from "1s" to "1h"`}
	answer("fault", post(t, h, "/teams", url.Values{"id": {"mill"}, "rates.requests.limit": {"700"}, "rates.requests.per": {"2ms"}}))
	g.refuse = nil
	answer("unkeyed", get(t, h, "/teams/search?done=unkeyed"))
	mux.Handle("/", h)
	return mux
}

// picture is a mill in winter.
func picture(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 12" width="640" height="480"><path fill="#9db4c0" d="M0 0h16v12H0z"/><path fill="#fff" d="M0 9l5-2 6 1 5-1v5H0z"/><path fill="#5c4742" d="M6 4h4v5H6z"/><path stroke="#253237" stroke-width=".3" d="M5 1l6 6M11 1L5 7"/></svg>`))
}

func sorted(paths map[string]string) (names []string) {
	for name := range paths {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// wanted leaves out what ONLY does not name, such as ONLY=day-now,tongues-. Of the small and the large gallery the pages count
// that differ by their size.
func wanted(room, name string, l look) bool {
	if (room == "little" || room == "thousand") && !slices.Contains([]string{"now", "teams", "money", "tasks", "requests", "team"}, name) {
		return false
	}
	only := os.Getenv("ONLY")
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(o string) bool {
		return strings.HasPrefix(strings.Join([]string{room, name, l.name}, "-"), o)
	})
}

// show gives the tab this look. A page that is open is laid out anew.
func (l look) show(ctx context.Context, t *testing.T) {
	t.Helper()
	scheme := func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(l.width, 900), chromedp.Func(scheme)); err != nil {
		t.Fatal(err)
	}
}

// listen collects the lines of the browser's console. An answer of status 4xx is written there too, and is no fault.
func listen(ctx context.Context) func() []string {
	said := make(chan string, 1000)
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err == nil && !strings.Contains(m.Text, "status of 4") && len(said) < cap(said) {
				said <- m.String() + " " + m.URL
			}
		}
	}()
	return func() (all []string) {
		for len(said) > 0 {
			all = append(all, <-said)
		}
		return all
	}
}

// judged returns the faults of the page that is open.
func judged(ctx context.Context, t *testing.T, checked bool) (faults []string) {
	t.Helper()
	if wide := browsertest.Evaluate[int](ctx, t, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
		faults = append(faults, fmt.Sprintf("it is %d pixels wider than its window", wide))
	}
	if !checked {
		return faults
	}
	found := browsertest.Evaluate[string](ctx, t, `axe.run(document, {resultTypes: ["violations"], runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}})
		.then(r => JSON.stringify(r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | "))))`)
	var violations []string
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatal(err)
	}
	return append(faults, violations...)
}

// TestTablesFitTheirWindows: what is clipped at the side looks broken, although it can be scrolled. Names, models and reasons of any
// length leave room for the columns behind them.
func TestTablesFitTheirWindows(t *testing.T) {
	ctx := browsertest.New(t)
	for room, g := range map[string]*gallery{"day": day(12), "tongues": tongues()} {
		server := httptest.NewServer(g.handler(operator))
		t.Cleanup(server.Close)
		for _, path := range []string{"/now", "/teams", "/teams/search", "/tasks", "/requests", "/money", "/audit", "/config"} {
			browsertest.Open(ctx, t, server.URL+path)
			for _, l := range looks {
				if l.scheme == "dark" {
					continue
				}
				l.show(ctx, t)
				if got := browsertest.Evaluate[string](ctx, t, `[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel + " " + (e.scrollWidth - e.clientWidth)).join()`); got != "" {
					t.Errorf("%s %s, %s: these are wider than their window: %s", room, path, l.name, got)
				}
			}
		}
		browsertest.Open(ctx, t, "about:blank") // live parts end, which the server waits for
	}
}
