package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/telemetry/recent"
)

// hurry makes a tab's scripts wait only a twentieth of their timeouts.
func hurry(ctx context.Context, t *testing.T) {
	t.Helper()
	onEveryPage(ctx, t, `{ const wait = setTimeout; window.setTimeout = (f, ms, ...rest) => wait(f, ms >= 1000 ? ms / 20 : ms, ...rest); }`)
}

// onEveryPage runs a script in every page that a tab opens, before those of the page.
func onEveryPage(ctx context.Context, t *testing.T, script string) {
	t.Helper()
	every := func(ctx context.Context, of *chromedp.Target) error {
		_, err := cdp.Call(ctx, of, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Func(every)); err != nil {
		t.Fatal(err)
	}
}

// TestALivePartThatDoesNotCome: the page keeps its content, marks it as stale, and continues when the console answers again.
// Without a session it redirects to the login.
func TestALivePartThatDoesNotCome(t *testing.T) {
	t.Parallel()
	h := day(12).handler(operator)
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	ctx, address := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch code := int(status.Load()); {
		case code == http.StatusUnauthorized && !strings.HasPrefix(r.URL.Path, "/assets/"):
			if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
				w.WriteHeader(code)
				return
			}
			_, _ = w.Write([]byte("<!doctype html><title>Sign in</title>"))
		case strings.Contains(r.Header.Get("Accept"), "text/event-stream") && code != http.StatusOK:
			http.Error(w, "away", code)
		case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: <p class=fresh>fresh</p>\n\n"))
		default:
			h.ServeHTTP(w, r)
		}
	}))
	hurry(ctx, t)
	browsertest.Open(ctx, t, address+"/now")
	browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
	if !browsertest.Evaluate[bool](ctx, t, `!!document.querySelector("#live .stats")`) {
		t.Error("the page lost what it had")
	}
	status.Store(http.StatusOK)
	browsertest.Await(ctx, t, `document.querySelector("#live .fresh") && document.getElementById("stale").hidden`)
	status.Store(http.StatusServiceUnavailable)
	browsertest.Await(ctx, t, `!document.getElementById("stale").hidden && document.querySelector("#live .fresh")`)
	status.Store(http.StatusUnauthorized)
	browsertest.Await(ctx, t, `document.title === "Sign in"`)
}

// TestScriptsOnASlowNetwork: whichever arrives late, htmx starts once its extension is loaded and our script listens.
func TestScriptsOnASlowNetwork(t *testing.T) {
	h := day(12).handler(operator)
	for _, late := range []string{"hx-sse", "console.js", "htmx-"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			var others sync.WaitGroup
			others.Add(2)
			ctx, address := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, late):
					others.Wait()
					time.Sleep(100 * time.Millisecond) // the browser runs them
				case strings.HasSuffix(r.URL.Path, ".js"):
					defer others.Done()
				case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
					http.Error(w, "away", http.StatusServiceUnavailable)
					return
				}
				h.ServeHTTP(w, r)
			}))
			browsertest.Open(ctx, t, address+"/now")
			browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
		})
	}
}

// TestAPageThatMayNotFollow shows that its figures are not live, and retries when the console's Retry-After has passed, not before.
func TestAPageThatMayNotFollow(t *testing.T) {
	t.Parallel()
	h := day(12).handler(operator)
	var refused atomic.Bool
	refused.Store(true)
	ctx, address := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") && refused.Load() {
			w.Header().Set("Retry-After", "45")
			http.Error(w, "Members of your team have 20 pages open.", http.StatusTooManyRequests)
			return
		}
		h.ServeHTTP(w, r)
	}))
	browsertest.Open(ctx, t, address+"/now")
	browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
	if !browsertest.Evaluate[bool](ctx, t, `!!document.querySelector("#live .stats")`) {
		t.Error("the page lost what it had")
	}
	browsertest.Evaluate[bool](ctx, t, `(() => {
		const wait = window.setTimeout;
		window.waits = [];
		window.setTimeout = (f, ms) => { if (ms >= 5000) { waits.push([f, ms]); return 0; } return wait(f, ms); };
		htmx.trigger(document.getElementById("live"), "again");
		return true;
	})()`)
	browsertest.Await(ctx, t, `waits.some(([, ms]) => ms === 45000)`)
	if waits := browsertest.Evaluate[string](ctx, t, `waits.map(([, ms]) => ms).join()`); strings.HasPrefix(waits, "5000,") ||
		strings.Contains(waits, ",5000,") {
		t.Errorf("it waits %s ms", waits)
	}
	refused.Store(false)
	browsertest.Evaluate[bool](ctx, t, `(waits.find(([, ms]) => ms === 45000)[0](), true)`)
	browsertest.Await(ctx, t, `document.getElementById("stale").hidden`)
}

// growing has a growing number of requests.
type growing struct {
	galleryFigures
	mu sync.Mutex
}

func (g *growing) RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.galleryFigures.RequestList(ctx, p, f)
}

func (g *growing) grow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	fresh := g.requests[0]
	fresh.ID, fresh.At = "fresh", fresh.At.Add(time.Second)
	g.requests = slices.Insert(g.requests, 0, fresh)
}

// TestTheKeyboardStaysAtItsRow when others are inserted above it: enter opens the request that was read out.
func TestTheKeyboardStaysAtItsRow(t *testing.T) {
	t.Parallel()
	g := day(12)
	list := &growing{galleryFigures: galleryFigures{g}}
	deps := g.deps()
	deps.Figures = list
	ctx, address := browse(t, as(pages.New(deps), operator))
	browsertest.Open(ctx, t, address+"/requests")
	was := browsertest.Evaluate[string](ctx, t, `(a => { a.focus(); return a.href; })(document.querySelector("#live tbody a"))`)
	list.grow()
	browsertest.Await(ctx, t, `document.querySelector("#live tbody a").href.endsWith("/requests/fresh")`)
	if is := browsertest.Evaluate[string](ctx, t, `document.activeElement.href || document.activeElement.outerHTML.slice(0, 200)`); is != was {
		t.Errorf("the keyboard was at %s and is at %s", was, is)
	}
}

// TestAListWaitsWhileItIsReadAndSaysWhatIsNew: paused, or scrolled into; then it goes on with what is there.
func TestAListWaitsWhileItIsReadAndSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	g := day(12)
	list := &growing{galleryFigures: galleryFigures{g}}
	deps := g.deps()
	deps.Figures = list
	ctx, address := browse(t, as(pages.New(deps), operator))
	browsertest.Open(ctx, t, address+"/requests")
	const first = `document.querySelector("#live tbody a").href.endsWith("/requests/fresh")`
	hold := func(text string) string { return `document.getElementById("hold").textContent === "` + text + `"` }
	press := func() { browsertest.Evaluate[bool](ctx, t, `(document.getElementById("hold").click(), true)`) }
	browsertest.Await(ctx, t, hold("Pause"))
	press()
	list.grow()
	browsertest.Await(ctx, t, hold("1 new"))
	if browsertest.Evaluate[bool](ctx, t, first) {
		t.Error("the list moved while it was paused")
	}
	press()
	browsertest.Await(ctx, t, first+" && "+hold("Pause"))
	browsertest.Evaluate[bool](ctx, t, `(document.querySelector("#live").style.minHeight = "300vh", scrollTo(0, 400), true)`)
	list.mu.Lock()
	list.requests[0].ID = "second"
	list.mu.Unlock()
	browsertest.Await(ctx, t, hold("1 new"))
	browsertest.Evaluate[bool](ctx, t, `(scrollTo(0, 0), true)`)
	browsertest.Await(ctx, t, `document.querySelector("#live tbody a").href.endsWith("/requests/second") && `+hold("Pause"))
}

// TestATaskThatEndsShowsItsPictures in a browser that was open while it ran, although the page's content policy predates the
// pictures' address. After that the page stops asking.
func TestATaskThatEndsShowsItsPictures(t *testing.T) {
	t.Parallel()
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	g := day(12)
	g.pictures = pictures.URL
	e, h, path := newEnding(g)
	ctx, address := browse(t, h)
	browsertest.Open(ctx, t, address+path)
	e.end()
	browsertest.Await(ctx, t, `[...document.querySelectorAll(".pictures img")].some(i => i.complete && i.naturalWidth > 0)`)
	if browsertest.Evaluate[bool](ctx, t, `!!document.querySelector("[hx-sse\\:connect]")`) {
		t.Error("the page goes on asking")
	}
}

// TestThePageOfATaskThatIsGone shows that, like a newly opened page: retrying its live part would never end.
func TestThePageOfATaskThatIsGone(t *testing.T) {
	t.Parallel()
	e, h, path := newEnding(day(12))
	ctx, address := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			e.forget()
		}
		h.ServeHTTP(w, r)
	}))
	browsertest.Open(ctx, t, address+path)
	browsertest.Await(ctx, t, `document.title.startsWith("Not found") && !document.querySelector("[hx-sse\\:connect]")`)
}

// TestAPageWithoutItsLivePart is reloaded once, and then marked as stale: a proxy may refuse only the live part.
func TestAPageWithoutItsLivePart(t *testing.T) {
	t.Parallel()
	_, h, path := newEnding(day(12))
	var opened atomic.Int32
	ctx, address := browse(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
			http.NotFound(w, r)
			return
		case r.URL.Path == path:
			opened.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	browsertest.Open(ctx, t, address+path)
	browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
	if n := opened.Load(); n != 2 {
		t.Errorf("the page was opened %d times, want twice", n)
	}
}

// TestALivePartInABrowser: what is new appears, in the time of the browser, and the keyboard stays where it was.
func TestALivePartInABrowser(t *testing.T) {
	t.Parallel()
	figures := &counted{galleryFigures: galleryFigures{day(12)}}
	deps := figures.deps()
	deps.Figures = figures
	ctx, address := browse(t, as(pages.New(deps), operator))
	browsertest.Open(ctx, t, address+"/now")
	browsertest.Evaluate[bool](ctx, t, `document.querySelector("#live .values").open = true,`+
		` document.querySelector("#live tbody a").focus(), true`)
	figures.change(77.7)
	browsertest.Await(ctx, t, `document.querySelector("#live .stats b").textContent === "77.7"`)
	if got := browsertest.Evaluate[string](ctx, t, `document.activeElement.textContent`); got != "search" {
		t.Errorf("the keyboard is at %q", got)
	}
	if !browsertest.Evaluate[bool](ctx, t, `document.querySelector("#live .values").open`) {
		t.Error("what the person has opened is shut")
	}
	if got := browsertest.Evaluate[string](ctx, t, `[...document.querySelectorAll("time")].filter(t => `+
		`t.textContent.endsWith("UTC")).map(t => t.outerHTML).join()`); got != "" {
		t.Errorf("these times are not the browser's: %s", got)
	}
}
