package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
)

// ending has one task, which can end.
type ending struct {
	galleryFigures
	mu    sync.Mutex
	state string
}

func (e *ending) Task(ctx context.Context, p access.Person, team, id string) (figures.Task, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == "" {
		return figures.Task{}, figures.ErrAbsent
	}
	t := &e.tasks[0]
	t.State, t.Open = e.state, e.state == "RUNNING"
	if !t.Open {
		t.Ended = noon
	}
	return e.galleryFigures.Task(ctx, p, team, id)
}

func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = "SUCCEEDED"
}

// forget lets the task's life in Sluice end.
func (e *ending) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = ""
}

func newEnding(g *gallery) (e *ending, h http.Handler, path string) {
	e = &ending{galleryFigures: galleryFigures{g}, state: "RUNNING"}
	deps := g.deps()
	deps.Figures = e
	all := pages.New(deps)
	h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
	})
	return e, h, "/teams/" + g.tasks[0].Team + "/tasks/" + g.tasks[0].ID
}

// TestTheStreamOfATaskThatHasEnded: a browser that comes again must get an end, or it comes for ever.
func TestTheStreamOfATaskThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, h, path := newEnding(day(12))
		e.end()
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept", "text/html, text/event-stream")
		w := httptest.NewRecorder()
		begun := time.Now()
		h.ServeHTTP(w, r)
		if text := w.Body.String(); w.Header().Get("Content-Type") != "text/event-stream" || !strings.HasSuffix(text, "\n\nevent: over\ndata:\n\n") || strings.Contains(text, "<html") || time.Since(begun) != 0 {
			t.Errorf("after %v, as %s: %.60q … %q", time.Since(begun), w.Header().Get("Content-Type"), text, text[max(len(text)-40, 0):])
		}
	})
}

// TestATaskThatEndsShowsItsPictures in a browser that looked while it ran, although the page's content policy was made when the
// service had not named their address. After that the page asks no more.
func TestATaskThatEndsShowsItsPictures(t *testing.T) {
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	g := day(12)
	g.pictures = pictures.URL
	e, h, path := newEnding(g)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+path)
	e.end()
	browsertest.Await(ctx, t, `[...document.querySelectorAll(".pictures img")].some(i => i.complete && i.naturalWidth > 0)`)
	if browsertest.Evaluate[bool](ctx, t, `!!document.querySelector("[hx-sse\\:connect]")`) {
		t.Error("the page goes on asking")
	}
}

// TestThePageOfATaskThatIsGone says so, as a page that is opened then: to ask for its live part again would never end.
func TestThePageOfATaskThatIsGone(t *testing.T) {
	e, h, path := newEnding(day(12))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			e.forget()
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+path)
	browsertest.Await(ctx, t, `document.title.startsWith("Not found") && !document.querySelector("[hx-sse\\:connect]")`)
}

// TestAPageWithoutItsLivePart is opened once more, and then says that it is old: a proxy may refuse the live part alone.
func TestAPageWithoutItsLivePart(t *testing.T) {
	_, h, path := newEnding(day(12))
	var opened atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
			http.NotFound(w, r)
			return
		case r.URL.Path == path:
			opened.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+path)
	browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
	if n := opened.Load(); n != 2 {
		t.Errorf("the page was opened %d times, want twice", n)
	}
}
