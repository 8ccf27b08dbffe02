package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/cache"
)

const callbackHooks = `hooks: [{id: jobs, url: "https://jobs.example/hook", secret_file: a}, {id: audit, url: "https://audit.example",` +
	` secret_file: a}]`

// A creation's callback is kept with its task, by either interface, and not sent to the service.
func TestACallbackIsKeptWithItsTask(t *testing.T) {
	claims := cache.NewClaims(24*time.Hour, time.Now)
	h := build(t, limited(callbackHooks), func(p *plan) { p.claims, p.config.OpenAI = claims, true })
	key := "Bearer " + h.keys["search"]
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{imagePath, imageBody, 200},
		{frontImages, `{"model":"gen2.5-t2i","prompt":"a mill","n":1}`, 504}, // it does not wait for its task here
	} {
		got := h.ask("POST", tt.path, tt.body, "Authorization", key, "X-Service-Async", "enable", "Sluice-Callback", "jobs/shots/42?x=1")
		if got.status != tt.status {
			t.Fatalf("%s: %d %s", tt.path, got.status, got.body)
		}
	}
	for _, r := range h.records.await(t, 2) {
		if claim, known, err := claims.Get(t.Context(), "search", r.Task); claim.Callback != "jobs/shots/42?x=1" || !known || err != nil {
			t.Errorf("%q: %+v, %v", r.Task, claim, err)
		}
	}
	for _, r := range h.sim.Requests() {
		if r.Header.Get("Sluice-Callback") != "" {
			t.Error("the service was sent the callback")
		}
	}
}

func TestFaultyCallbacksAreRefused(t *testing.T) {
	h := build(t, limited(callbackHooks))
	for value, says := range map[string]string{
		"shots/42":                         "allowed: the id of a hook of the team, and what stands below its url: jobs, audit.",
		"https://evil.example/":            "allowed: the id of a hook of the team",
		"jobs/../up":                       "without a host",
		"jobs/" + strings.Repeat("a", 600): "at most 512",
	} {
		got := h.ask("POST", imagePath, imageBody, slices.Concat(async, []string{"Sluice-Callback", value})...)
		got.wants(t, 400, "authenticate/callback", "InvalidParameter")
		if !strings.Contains(got.body, says) || strings.Contains(got.body, "evil") {
			t.Errorf("%.20s: %s", value, got.body)
		}
	}
}
