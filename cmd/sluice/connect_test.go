package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// Check tries what the gateway connects to, at no cost, and shows no secret.
func TestCheckTriesWhatIsConnectedTo(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer issuer.Close()
	file := write(t, someTeams+fmt.Sprintf("    hooks: [{id: chat, url: \"https://localhost/CANARY\", kind: slack, events: [\"*\"]}]\nissuers: [{url: %q, audience: sluice, teams: {a: search}}]\n", issuer.URL))
	environ := func(key, redis string) []string {
		return []string{
			"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=" + key, "SLUICE_TEAMS_FILE=" + file, "SLUICE_REDIS_URL=" + redis,
			"SLUICE_REDIS_TIMEOUT=5s", "HTTPS_PROXY=http://CANARY.example:3128",
		}
	}
	got := command(t.Context(), environ("sk-upstream", startRedis(t).url()), "check", "--connect")
	for _, want := range []string{
		"warning: SLUICE_UPSTREAM_PROXY: not set, so the service is reached directly; the environment's HTTPS_PROXY is not used\n",
		"ok: Redis, ", "ok: the service, account main, ", "ok: the issuer " + issuer.URL + ", ",
		"warning: the name of hook chat of search, ", "it leads to a private address, which SLUICE_HOOK_NETWORKS does not list\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.text())
		}
	}
	if got.code != exitClean || strings.Contains(got.text(), "CANARY") {
		t.Errorf("%+v", got)
	}
	if len(service.Requests()) != 1 {
		t.Errorf("the service got %d requests", len(service.Requests()))
	}
	got = command(t.Context(), environ("sk-CANARY", "redis://127.0.0.1:1"), "check", "--connect")
	if got.code != exitFailure || !strings.Contains(got.stdout, "wrong: Redis: ") || !strings.Contains(got.stdout, "wrong: the service, account main: the key is refused with 401\n") ||
		!strings.Contains(got.stderr, "2 of 4 cannot be reached") || strings.Contains(got.text(), "CANARY") {
		t.Errorf("%+v", got)
	}
}
