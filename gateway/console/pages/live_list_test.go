package pages_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/telemetry/recent"
)

// growing has requests that become more.
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

// TestTheKeyboardStaysAtItsRow when others come before it: to press enter opens the request that was read out.
func TestTheKeyboardStaysAtItsRow(t *testing.T) {
	g := day(12)
	list := &growing{galleryFigures: galleryFigures{g}}
	deps := g.deps()
	deps.Figures = list
	server := httptest.NewServer(as(pages.New(deps), operator))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+"/requests")
	was := browsertest.Evaluate[string](ctx, t, `(a => { a.focus(); return a.href; })(document.querySelector("#live tbody a"))`)
	list.grow()
	browsertest.Await(ctx, t, `document.querySelector("#live tbody a").href.endsWith("/requests/fresh")`)
	if is := browsertest.Evaluate[string](ctx, t, `document.activeElement.href || document.activeElement.outerHTML.slice(0, 200)`); is != was {
		t.Errorf("the keyboard was at %s and is at %s", was, is)
	}
	browsertest.Open(ctx, t, "about:blank")
}
