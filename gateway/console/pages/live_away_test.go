package pages_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
)

// TestALivePartThatDoesNotCome: the page keeps what it has, says that it is old, and goes on when the console answers again. Without a
// session it leads to the login.
func TestALivePartThatDoesNotCome(t *testing.T) {
	h := day(12).handler(operator)
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			h.ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
		}
	}))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	browsertest.Open(ctx, t, server.URL+"/now")
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

// TestScriptsOnASlowNetwork: whichever comes late, htmx begins when its extension is there, and when our script listens.
func TestScriptsOnASlowNetwork(t *testing.T) {
	h, ctx := day(12).handler(operator), browsertest.New(t)
	for _, late := range []string{"hx-sse", "console.js", "htmx-"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, late) {
				time.Sleep(time.Second)
			}
			if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
				http.Error(w, "away", http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		browsertest.Open(ctx, t, server.URL+"/now") // at another port: no script is in the cache
		browsertest.Await(ctx, t, `!document.getElementById("stale").hidden`)
	}
}
