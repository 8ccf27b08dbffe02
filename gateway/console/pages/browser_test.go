package pages_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/pages"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// look is a way to look at a page.
type look struct {
	name   string
	width  int64
	scheme string
}

var looks = []look{{"light", 1280, "light"}, {"dark", 1440, "dark"}, {"narrow", 360, "light"}, {"middle", 1024, "dark"},
	{"wide", 3840, "light"}}

// withAxe puts the accessibility checker of SDK_DIR into every page that is opened. It reports false without one.
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
	onEveryPage(ctx, t, string(script))
	return true
}

// tables are the pages that are checked in every width: their tables have texts of any length.
var tables = []string{"now", "teams", "team", "key-page", "key-token", "tasks", "latency", "requests", "requests-more", "refusals",
	"request-limit", "money", "accounts", "deliveries", "deliveries-team", "deliveries-operators", "audit", "config"}

// TestPagesInABrowser opens the pages of all galleries. axe finds no violation, and nothing is written to the browser's console
// (as a violated content policy is); no page or table is wider than its window, with names, models and reasons of any length; and
// on a phone no button lies beyond the edge. With SCREENSHOTS those of a day are drawn, each in one look, and those that ONLY names in
// each look.
func TestPagesInABrowser(t *testing.T) {
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	for room, g := range galleries() {
		t.Run(room, func(t *testing.T) {
			t.Parallel()
			g.pictures = pictures.URL
			ctx, address := browse(t, scenes(t, g))
			checked, complaints := withAxe(ctx, t), listen(ctx)
			paths := g.paths()
			full := room == "day" || room == "tongues"
			if full {
				for _, scene := range []string{"login", "login-plain", "unsent", "sessions", "minted", "lost", "fault", "raise", "unkeyed", "key-lost",
					"key-fault"} {
					paths[scene] = "/scene/" + scene
				}
			}
			for n, name := range slices.Sorted(maps.Keys(paths)) {
				if !wanted(room, name) {
					continue
				}
				browsertest.Open(ctx, t, address+paths[name])
				for i, l := range looks {
					about := room + "-" + name + "-" + l.name
					judged := i == (n+len(room))%len(looks) // one look is enough for routine runs
					if wide := full && l.scheme == "light" && (l.name == "narrow" || slices.Contains(tables, name)); !judged && !wide &&
						!drawn(room, about, judged) {
						continue
					}
					l.show(ctx, t)
					faults := misfits(ctx, t, room != "thousand")
					if judged && checked && (room == "day" || !testing.Short()) { // axe takes half of the time
						faults = append(faults, violations(ctx, t)...)
					}
					for _, fault := range append(faults, complaints()...) {
						t.Errorf("%s: %s", about, fault)
					}
					if drawn(room, about, judged) {
						browsertest.Screenshot(ctx, t, about)
					}
				}
			}
		})
	}
}

// drawn reports whether a page of a room is drawn in a look, which may be the one in which axe judges it.
func drawn(room, about string, judged bool) bool {
	if only := os.Getenv("ONLY"); only != "" {
		return slices.ContainsFunc(strings.Split(only, ","), func(o string) bool { return strings.HasPrefix(about, o) })
	}
	return room == "day" && judged
}

// wanted leaves out pages that differ only by a gallery's size from the small and the large one, and those that ONLY does not
// name, such as ONLY=day-now,tongues-.
func wanted(room, name string) bool {
	if (room == "little" || room == "thousand") && !slices.Contains(
		[]string{"now", "teams", "money", "tasks", "requests", "team", "accounts"}, name) {
		return false
	}
	only := os.Getenv("ONLY")
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(o string) bool {
		return strings.HasPrefix(room+"-"+name, o) || strings.HasPrefix(o, room+"-"+name+"-")
	})
}

// misfits returns the elements that do not fit into the window, and what filters a list that is empty. Tables may be loose where long
// numbers scroll on a phone.
func misfits(ctx context.Context, t *testing.T, tight bool) []string {
	t.Helper()
	return listed(t, browsertest.Evaluate[string](ctx, t, `(() => {
		const root = document.documentElement, all = selector => [...document.querySelectorAll(selector)];
		const tight = `+strconv.FormatBool(tight)+`;
		const faults = root.scrollWidth > root.clientWidth ?
			["it is " + (root.scrollWidth - root.clientWidth) + " pixels wider than its window"] : [];
		for (const e of all(".scroll")) if (tight && e.scrollWidth > e.clientWidth + 1)
			faults.push("the table " + e.ariaLabel + " is " + (e.scrollWidth - e.clientWidth) + " pixels wider than its window");
		if (tight && innerWidth < 500) for (const e of all("button, .button, summary"))
			if (e.checkVisibility() && e.getBoundingClientRect().right > innerWidth)
				faults.push("beyond the side is " + e.textContent.trim().slice(0, 40));
		if (document.querySelector("#live > .yet")) for (const e of all("form.filter, #hold"))
			if (e.checkVisibility()) faults.push("nothing is there for " + e.outerHTML.slice(0, 40));
		return JSON.stringify(faults);
	})()`))
}

// violations returns the findings of axe.
func violations(ctx context.Context, t *testing.T) []string {
	t.Helper()
	return listed(t, browsertest.Evaluate[string](ctx, t,
		`axe.run(document, {resultTypes: ["violations"], runOnly: {type: "tag",
		values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}})
		.then(r => JSON.stringify(r.violations.map(v => v.id + ": " + v.help + " " + 
			v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | "))))`))
}

// listed reads a list of texts.
func listed(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// scenes serves a gallery's pages, and the answers to its forms.
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
		if err := pages.LoginTemplates().ExecuteTemplate(w, name, data); err != nil {
			t.Fatal(err)
		}
		return w
	}
	answer("login", shown("login", loginPage{"This key is not known, or it has ended.", "/", "/login/oidc"}))
	answer("login-plain", shown("login", loginPage{Next: "/"}))
	answer("unsent", shown("unsent", unsentPage{"Your session has ended.", "/teams", "/new-team", false, url.Values{"id": {"maps"}}}))
	answer("sessions", shown("sessions", sessionsPage{operator, "operator", []session{
		{ID: "x", Who: operator.Name, Role: "operator", Client: "192.0.2.7",
			Agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0", Began: noon, Ends: noon.Add(12 * time.Hour), Own: true},
		{ID: "y", Who: "key:7f3k9q2m4x1c", Role: "member", Client: "192.0.2.9", Agent: hostile[0], Began: noon, Ends: noon.Add(12 * time.Hour)},
	}}))
	answer("minted", post(t, h, "/teams/search/keys/7f3k9q2m4x00/rotate", url.Values{"ends": {"day"}}))
	form := url.Values{"version": {"0"}, "rates.requests.limit": {"700"}, "rates.requests.per": {"1m"}, "models": {"llm-*"},
		"shadow": {"true"}}
	answer("lost", post(t, h, "/teams/search/edit", form))
	g.refuse = &teams.Problem{Code: teams.CodeInvalid, Field: "rates.requests.per",
		Text: `got "2ms", allowed: whole seconds from "1s" to "1h"`}
	answer("fault", post(t, h, "/teams", url.Values{"id": {"mill"}, "rates.requests.limit": {"700"}, "rates.requests.per": {"2ms"}}))
	g.refuse.Field = "quotas.images.day"
	answer("key-fault", post(t, h, "/teams/search/keys", url.Values{"note": {"the indexer"}, "quotas.images.day": {"many"}}))
	g.refuse, g.elsewhere = nil, true
	answer("key-lost", post(t, h, "/teams/search/keys/7f3k9q2m4x00/edit", url.Values{"version": {"0"}, "concurrent": {"5"}}))
	g.elsewhere = false
	g.refuse = &teams.Problem{Code: teams.CodeUnfit, Field: "amount", Text: `got "0.5", allowed: a whole number above 0`}
	answer("raise", post(t, h, "/teams/search/raises", url.Values{"unit": {"images"}, "period": {"day"}, "amount": {"0.5"},
		"reason": {"launch"}}))
	g.refuse = nil
	answer("unkeyed", get(t, h, "/teams/search?done=unkeyed"))
	mux.Handle("/", h)
	return mux
}

// picture is a mill in winter.
func picture(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write([]byte(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 12" width="640" height="480"><path fill="#9db4c0" d="M0 0h16v12H0z"/><path ` +
			`fill="#fff" d="M0 9l5-2 6 1 5-1v5H0z"/><path fill="#5c4742" d="M6 4h4v5H6z"/><path stroke="#253237" stroke-width=".3" d="M5 1l6 ` +
			`6M11 1L5 7"/></svg>`))
}

// show gives the tab this look. An open page is laid out again.
func (l look) show(ctx context.Context, t *testing.T) {
	t.Helper()
	browsertest.Resize(ctx, t, l.width, l.scheme)
}

// listen collects the lines of the browser's console. Answers of status 4xx are written there too, and are no fault.
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
			all = append(all, "the browser says "+<-said)
		}
		return all
	}
}

// TestPaperHasThePageAlone: no navigation and no forms, and the page has all of the paper's width, upright and across.
func TestPaperHasThePageAlone(t *testing.T) {
	t.Parallel()
	ctx, address := browse(t, day(12).handler(operator))
	paper := func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}
	for _, width := range []int64{794, 1123} { // A4 at 96 dots an inch
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 1000), chromedp.Func(paper)); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"money": "/money", "team": "/teams/search"} {
			browsertest.Open(ctx, t, address+path)
			browsertest.Screenshot(ctx, t, "paper-"+name)
			if got := browsertest.Evaluate[int](ctx, t, `Math.round(document.querySelector("main").getBoundingClientRect().width)`); int64(
				got) < width-40 {
				t.Errorf("%s: the page is %d wide on paper of %d", path, got, width)
			}
			if got := browsertest.Evaluate[string](ctx, t, `[...document.querySelectorAll(".side, form, button, .button, .skip, summary,`+
				` .acts")].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 100)).join()`); got != "" {
				t.Errorf("%s: paper has %s", path, got)
			}
		}
	}
}

// TestPicturesOfTheManual draws the pictures of docs/console.md, from a fixed gallery. The manual has the command.
func TestPicturesOfTheManual(t *testing.T) {
	if os.Getenv("SCREENSHOTS") == "" {
		t.Skip("SCREENSHOTS is not set")
	}
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	g := manual()
	g.pictures = pictures.URL
	ctx, address := browse(t, g.handler(operator))
	light, dark, narrow := look{"light", 1280, "light"}, look{"dark", 1280, "dark"}, look{"narrow", 390, "light"}
	if err := chromedp.Do(ctx, chromedp.Func(inUTC)); err != nil {
		t.Fatal(err)
	}
	paths := g.paths()
	for _, p := range []struct {
		name, path string
		look       look
	}{
		{"now", paths["now"], light},
		{"team", paths["team"], light},
		{"task", paths["task-succeeded"], light},
		{"requests", paths["requests"], dark},
		{"money", "/money?from=2026-10-24&to=2026-11-22", narrow},
	} {
		p.look.show(ctx, t)
		browsertest.Open(ctx, t, address+p.path)
		browsertest.Picture(ctx, t, p.name)
	}
}

// inUTC sets the browser's time zone, so that it is the same everywhere.
func inUTC(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	return err
}

// manual is a day whose figures agree with each other on all pictures.
func manual() *gallery {
	g := dayWith(12, "checkout")
	first := &g.list[0]
	first.Description = "Full text, pictures and recommendations of the shop"
	first.Tightest = &standings()[4]
	month := int64(0)
	for _, d := range g.days {
		if d.Name >= "2026-11-01" {
			month += d.Used[limit.Spend] / g.now.Today.Used[limit.Requests] * first.Today.Used[limit.Requests]
		}
	}
	g.limits = standings()
	for i, most := range map[int]int64{2: 2000, 3: 60 * teams.Nano, 4: 2400 * teams.Nano} {
		l := &g.limits[i]
		l.Limit, l.Used, l.Held = most, first.Today.Used[limit.Images], 12
		if l.Unit == unit.NameSpend {
			l.Used, l.Held = first.Today.Used[limit.Spend], 12*teams.Nano/5
		}
		if l.Period == teams.PeriodMonth {
			l.Used = month
		}
		l.Left = l.Limit - l.Used - l.Held
	}
	return g
}
