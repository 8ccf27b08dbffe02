package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
	if _, err := askAdmin(t.Context(), strings.Replace(admin.URL, "127.0.0.1", "localhost", 1)); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the listener's own answer", err)
	}
}
