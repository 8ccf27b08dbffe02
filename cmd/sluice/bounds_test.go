package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/telemetry/recent"
)

// TestReadinessNamesABoundForAMinute: readiness shows a reached bound for a minute and the log has it once; the other bound is in
// neither.
func TestReadinessNamesABoundForAMinute(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var log bytes.Buffer
	b := &bounds{now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil))}
	reached := b.add("readings: 20 a second for each person")
	b.add("listeners: 20 for each team")
	if err := b.state(); err != nil {
		t.Errorf("before: %v", err)
	}
	reached()
	now = now.Add(time.Second)
	reached()
	now = now.Add(time.Minute)
	const want = "readings: 20 a second for each person (reached 2 times since the start, the last within a minute)"
	if err := b.state(); err == nil || err.Error() != want {
		t.Errorf("after a minute: %v, want %s", err, want)
	}
	if n := strings.Count(log.String(), "readings"); n != 1 || strings.Contains(log.String(), "listeners") {
		t.Errorf("the log is %q, want the reached bound once", log.String())
	}
	now = now.Add(time.Second)
	if err := b.state(); err != nil {
		t.Errorf("later: %v", err)
	}
	reached()
	if n := strings.Count(log.String(), "readings"); n != 2 {
		t.Errorf("the bound is logged %d times, want once more after a minute", n)
	}
}

func TestWhereAListenerIsProbed(t *testing.T) {
	for listen, want := range map[string]string{
		":8081":          "127.0.0.1:8081",
		"0.0.0.0:8081":   "127.0.0.1:8081",
		"[::]:8081":      "[::1]:8081",
		"127.0.0.1:8081": "127.0.0.1:8081",
		"10.1.2.3:8081":  "10.1.2.3:8081",
		"localhost:8081": "localhost:8081",
	} {
		if got := dialable(listen); got != want {
			t.Errorf("a listener at %s is probed at %s, want %s", listen, got, want)
		}
	}
}

func TestHealth(t *testing.T) {
	status := http.StatusOK
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("probed %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer admin.Close()
	address := "SLUICE_ADMIN_LISTEN=" + strings.TrimPrefix(admin.URL, "http://")

	// Faults elsewhere do not matter: only the health of the process counts.
	if got := command(t.Context(), []string{address, "SLUICE_REPLICAS=none"}, "health"); got.code != exitClean || got.text() != "" {
		t.Errorf("healthy: %+v", got)
	}
	status = http.StatusServiceUnavailable
	if got := command(t.Context(), []string{address}, "health"); got.code != exitFailure {
		t.Errorf("not healthy: %+v", got)
	}
	if got := command(t.Context(), []string{"SLUICE_ADMIN_LISTEN=nowhere"}, "health"); got.code != exitFaulty {
		t.Errorf("no address: %+v", got)
	}
}

func TestHealthIgnoresTheEnvironmentsProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	admin := httptest.NewServer(http.NotFoundHandler())
	defer admin.Close()
	if _, err := askAdmin(t.Context(), strings.Replace(admin.URL, "127.0.0.1", "localhost", 1)); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the listener's own answer", err)
	}
}

// TestEveryRequestIsCountedOnce sends requests to two replicas until both have stopped cleanly.
func TestEveryRequestIsCountedOnce(t *testing.T) {
	redis := startRedis(t)
	one := serving(t, "http://127.0.0.1:1", "SLUICE_REDIS_URL="+redis.url())
	two := serving(t, "http://127.0.0.1:1", "SLUICE_REDIS_URL="+redis.url())
	const each = 150
	client := newClient(t)
	began := time.Now()
	var sending sync.WaitGroup
	for _, address := range []string{one.public, two.public} {
		for range 3 {
			sending.Go(func() {
				for range each / 3 {
					answer, err := client.Get("http://" + address + "/api/v1/tasks/absent")
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusUnauthorized {
						t.Errorf("status %d, want 401", answer.StatusCode)
					}
				}
			})
		}
	}
	sending.Wait()
	client.CloseIdleConnections()
	for _, h := range []*house{one, two} {
		if code := h.stop(); code != exitClean {
			t.Errorf("exit code %d; the log:\n%s", code, h.log.bytes())
		}
	}

	s := recent.NewRedis(redis.admin, time.Now)
	minutes, err := s.Minutes(t.Context(), []string{""}, began.Truncate(time.Minute), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var all recent.Counts
	for i := range minutes {
		all.Add(&minutes[i].Counts)
	}
	if all.Requests != 2*each || all.Refusals["authenticate/key"] != 2*each {
		t.Errorf("%+v are counted, want %d requests with a wrong key", all, 2*each)
	}
	page, err := s.Requests(t.Context(), recent.Filter{Status: http.StatusUnauthorized, Size: 500})
	if err != nil || len(page.Requests) != 2*each || page.Next != "" {
		t.Errorf("%d requests are kept, %q, %v; want %d", len(page.Requests), page.Next, err, 2*each)
	}
}
