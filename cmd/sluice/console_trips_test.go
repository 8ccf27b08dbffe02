package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/simulator"
)

// trips counts the round trips to Redis for one request: all, and the longest chain in which each began after the previous one
// ended.
type trips struct {
	mu         sync.Mutex
	pause      time.Duration // of each: those of the same moment overlap if the machine begins them all within it
	all, chain int
	status     int
}

type tripsKey struct{}

func (c *trips) took(run func() error) error {
	c.mu.Lock()
	c.all++
	level := c.chain + 1
	c.mu.Unlock()
	time.Sleep(c.pause)
	err := run()
	c.mu.Lock()
	c.chain = max(c.chain, level)
	c.mu.Unlock()
	return err
}

// tripsHook counts the calls of requests that are counted.
type tripsHook struct{}

func (tripsHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (tripsHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c, counted := ctx.Value(tripsKey{}).(*trips); counted {
			return c.took(func() error { return next(ctx, cmd) })
		}
		return next(ctx, cmd)
	}
}

func (tripsHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c, counted := ctx.Value(tripsKey{}).(*trips); counted {
			return c.took(func() error { return next(ctx, cmds) })
		}
		return next(ctx, cmds)
	}
}

// TestAPageTakesThreeRoundTrips: each page waits for Redis at most three times, including the session lookup; other reads run in
// parallel. The first page of a process may wait once more, for the names of the teams.
func TestAPageTakesThreeRoundTrips(t *testing.T) {
	t.Parallel()
	_, service := newService(t, simulator.Config{})
	store := startRedis(t)
	c, err := loadConfiguration(servingEnviron(t, service.URL, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0",
		"SLUICE_CONSOLE_TOKEN_FILE="+write(t, operatorsToken),
		"SLUICE_REDIS_URL="+store.url(), "SLUICE_REDIS_TIMEOUT=5s", "SLUICE_LOG_LEVEL=error"))
	must(t, err)
	log := openLog(c.Settings, io.Discard)
	process, err := open(t.Context(), c, log, start{})
	must(t, err)
	process.kept.redis.AddHook(tripsHook{})
	day := time.Now().UTC().AddDate(0, 0, -10).Format("20060102")
	store.do("SADD", "sl1:teams", "search")
	store.do("HSET", "sl1:{search}:use:"+day, "day", day, "m|text|requests", "3", "m|text|spend", "500")

	cookie := signIn(t, process)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- process.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-served)
		closeLog(log)
	})
	from := time.Now().UTC().AddDate(0, 0, -60).Format(time.DateOnly)
	// The sums of past days are made with pauses of four times a day's work, and every visit takes from that time.
	for begun := time.Now(); visitCounted(t, process, cookie, "/money?by=model&from="+from, 0).
		status != http.StatusOK; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 3*patience {
			t.Fatal("the sums of past days are not made")
		}
	}
	for _, path := range []string{
		"/now", "/now?span=day", "/teams", "/teams/search", "/tasks", "/tasks?team=search", "/requests", "/money", "/money?by=model&from=" + from,
		"/money?by=tag&from=" + from, "/money?by=day&team=search&from=" + from, "/money?by=tag&team=search&from=" + from, "/rules", "/config",
	} {
		c := new(trips)
		// A busy machine may begin calls of the same moment one after the other. Calls that wait for each other always do so.
		for pause := 20 * time.Millisecond; pause < time.Second && (c.all == 0 || c.chain > 3); pause *= 3 {
			c = visitCounted(t, process, cookie, path, pause)
		}
		t.Logf("%s: %d, and %d calls in all", path, c.chain, c.all)
		if c.chain > 3 || c.status != http.StatusOK {
			t.Errorf("%s: %d, and waits for Redis %d times", path, c.status, c.chain)
		}
	}
}

// signIn returns the cookie of an operator.
func signIn(t *testing.T, p *process) *http.Cookie {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login",
		strings.NewReader(url.Values{"secret": {operatorsToken}}.Encode()))
	r.Host = p.listeners.console.Addr().String()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.console.server.Handler.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		if cookie.MaxAge >= 0 && cookie.Value != "" {
			return cookie
		}
	}
	t.Fatalf("no session: %d %s", w.Code, w.Body)
	return nil
}

// visitCounted requests a page when cached copies are stale.
func visitCounted(t *testing.T, p *process, cookie *http.Cookie, path string, pause time.Duration) *trips {
	t.Helper()
	if path == "/now" || path == "/teams" || strings.HasPrefix(path, "/money?by=tag") {
		time.Sleep(2 * time.Second)
	}
	c := &trips{pause: pause}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), tripsKey{}, c), http.MethodGet, path, http.NoBody)
	r.Host = p.listeners.console.Addr().String()
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	p.console.server.Handler.ServeHTTP(w, r)
	c.status = w.Code
	return c
}
