package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Trials of the way to Sluice reach no service, and cost nothing.
func TestTheWayCanBeTriedWithoutTheService(t *testing.T) {
	h := build(t, limited("quotas: {requests: {day: 1}}"))
	const path = "/sluice/v1/echo"
	for range 3 {
		if got := h.ask("GET", path, ""); got.status != 200 || got.member(t, "client") != "127.0.0.1" ||
			got.member(t, "request_id") != got.header.Get("Sluice-Request-Id") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	h.ask("GET", path, "", "Authorization", "Bearer nobody").wants(t, 401, "authenticate/key", "InvalidApiKey")
	h.ask("GET", path+"?silence=999", "").wants(t, 400, "inspect/rules", "InvalidParameter")
	if got := h.ask("GET", path, "", "Prefer", "wait=1"); got.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("a wait: %v", got.header)
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("the service got %d requests", n)
	}
}

// The first frames of the stream leave at once, and the last after the silence.
func TestATrialsStream(t *testing.T) {
	h := build(t, limited(""))
	request, err := http.NewRequest("GET", h.server.URL+"/sluice/v1/echo?silence=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.keys["search"])
	answer, err := h.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	in := bufio.NewReader(answer.Body)
	frame, err := in.ReadString('\n')
	came := time.Now()
	rest, _ := io.ReadAll(in)
	if err != nil || !strings.HasPrefix(frame, `data: {"request_id"`) || strings.Count(string(rest), frame) != 2 ||
		time.Since(came) < time.Second/2 {
		t.Errorf("%q, then %q after %v: %v", frame, rest, time.Since(came), err)
	}
}

// A request that is dropped has no answer, and its arrivals are counted for the team that sent it.
func TestADroppedTrialIsCounted(t *testing.T) {
	h := build(t, limited(""))
	for range 2 {
		request, err := http.NewRequest("POST", h.server.URL+"/sluice/v1/echo?drop=a", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+h.keys["search"])
		if answer, err := h.client.Do(request); err == nil {
			_ = answer.Body.Close()
			t.Errorf("answered with %d", answer.StatusCode)
		}
	}
	if got := h.ask("GET", "/sluice/v1/echo?count=a", ""); !strings.Contains(got.body, `"arrived":2`) {
		t.Error(got.body)
	}
	if got := h.ask("GET", "/sluice/v1/echo?count=a", "", "Authorization", "Bearer "+h.keys["shop"]); !strings.Contains(got.body,
		`"arrived":0`) {
		t.Errorf("another team's: %s", got.body)
	}
}
