package pages_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
)

// TestAPageThatMayNotFollow says that its figures are not live, and asks again when the console has said, not before.
func TestAPageThatMayNotFollow(t *testing.T) {
	h := day(12).handler(operator)
	var refused atomic.Bool
	refused.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") && refused.Load() {
			w.Header().Set("Retry-After", "45")
			http.Error(w, "Members of your team have 20 pages open.", http.StatusTooManyRequests)
			return
		}
		h.ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
	}))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+"/now")
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
	if waits := browsertest.Evaluate[string](ctx, t, `waits.map(([, ms]) => ms).join()`); strings.HasPrefix(waits, "5000,") || strings.Contains(waits, ",5000,") {
		t.Errorf("it waits %s ms", waits)
	}
	refused.Store(false)
	browsertest.Evaluate[bool](ctx, t, `(waits.find(([, ms]) => ms === 45000)[0](), true)`)
	browsertest.Await(ctx, t, `document.getElementById("stale").hidden`)
	browsertest.Open(ctx, t, "about:blank")
}
