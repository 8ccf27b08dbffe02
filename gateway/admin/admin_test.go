package admin_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/policy/account"
)

// ask sends one request to a listener and returns status and body.
func ask(deps admin.Deps, method, target string) *httptest.ResponseRecorder {
	if deps.Ready == nil {
		deps.Ready = func() error { return nil }
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(method, target, nil)
	request.Host = "127.0.0.1:8081"
	admin.New(deps).ServeHTTP(answer, request)
	return answer
}

func twoAccounts() []account.Standing {
	return []account.Standing{
		{ID: "main", State: account.OK, Weight: 3, InFlight: 2, Key: "…f00d"},
		{ID: "spare", State: account.Out, Why: "Arrearage", Weight: 1, Key: "…beef"},
	}
}

func TestHealthAndReadiness(t *testing.T) {
	draining := func() error { return errors.New("stopping") }
	unwell := []admin.Check{
		{Name: "teams", State: func() error { return errors.New("the file is faulty") }},
		{Name: "accept", State: func() error { return nil }},
	}
	needed := []admin.Check{
		{Name: "accept", Needed: true, State: func() error { return nil }},
		{Name: "currency", Needed: true, State: func() error { return errors.New("other digits") }},
	}
	for _, tt := range []struct {
		about, target string
		deps          admin.Deps
		status        int
		body          string
	}{
		{"healthy", "/healthz", admin.Deps{}, 200, "ok\n"},
		{"ready", "/readyz", admin.Deps{}, 200, "ready\n"},
		{"a stopping process is healthy", "/healthz", admin.Deps{Ready: draining}, 200, "ok\n"},
		{"but not ready", "/readyz", admin.Deps{Ready: draining}, 503, "not ready: stopping\n"},
		{"what limps still serves", "/readyz", admin.Deps{Checks: unwell}, 200, "ready\n"},
		{"but not without what it needs", "/readyz?verbose", admin.Deps{Checks: needed}, 503,
			"not ready: other digits\naccept: ok\ncurrency: other digits\n"},
		{"and says how", "/readyz?verbose", admin.Deps{Checks: unwell}, 200, "ready\nteams: the file is faulty\naccept: ok\n"},
		{"the accounts behind it", "/readyz?verbose", admin.Deps{Checks: unwell, Standings: twoAccounts}, 200,
			"ready\nteams: the file is faulty\naccept: ok\n" +
				"account main: ok; weight 3, 2 in flight, key …f00d\naccount spare: out: Arrearage; weight 1, 0 in flight, key …beef\n"},
		{"not without being asked", "/readyz", admin.Deps{Standings: twoAccounts}, 200, "ready\n"},
		{"with a value too", "/healthz?verbose=1", admin.Deps{Checks: unwell}, 200, "ok\nteams: the file is faulty\naccept: ok\n"},
	} {
		answer := ask(tt.deps, "GET", tt.target)
		if answer.Code != tt.status || answer.Body.String() != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.about, answer.Code, answer.Body, tt.status, tt.body)
		}
	}
}

func TestOnlyReadingAndOnlyThesePaths(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		status         int
	}{
		{"HEAD", "/healthz", 200},
		{"HEAD", "/readyz", 200},
		{"POST", "/healthz", 405},
		{"PUT", "/readyz", 405},
		{"DELETE", "/readyz", 405},
		{"OPTIONS", "/readyz", 405},
		{"GET", "/", 404},
		{"GET", "//healthz", 404},
		{"GET", "/healthz/", 404},
		{"GET", "/x/../healthz", 404},
		{"GET", "/reload", 404},
		{"POST", "/reload", 404},
		{"GET", "/debug/pprof/", 404},
		{"GET", "/debug/pprof/heap", 404},
		{"GET", "/debug/vars", 404},
		{"GET", "/api/v1/tasks", 404},
	} {
		answer := ask(admin.Deps{}, tt.method, tt.target)
		if answer.Code != tt.status {
			t.Errorf("%s %s is answered %d, want %d", tt.method, tt.target, answer.Code, tt.status)
		}
		if tt.status == 405 && answer.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: Allow is %q", tt.method, tt.target, answer.Header().Get("Allow"))
		}
	}
}

func TestProfilesOnlyWhenAskedFor(t *testing.T) {
	for target, content := range map[string]string{
		"/debug/pprof/":                   "goroutine",
		"/debug/pprof/goroutine?debug=1":  "goroutine profile",
		"/debug/pprof/heap?debug=1":       "heap profile",
		"/debug/pprof/cmdline":            "admin.test",
		"/debug/pprof/symbol":             "num_symbols",
		"/debug/pprof/trace?seconds=0.01": "trace",
	} {
		if answer := ask(admin.Deps{}, "GET", target); answer.Code != http.StatusNotFound {
			t.Errorf("%s is answered %d without the setting", target, answer.Code)
		}
		answer := ask(admin.Deps{Pprof: true}, "GET", target)
		if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), content) {
			t.Errorf("%s is answered %d with the setting, want 200 and %q", target, answer.Code, content)
		}
	}
	if answer := ask(admin.Deps{Pprof: true}, "POST", "/debug/pprof/symbol"); answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST to a profile is answered %d", answer.Code)
	}
}

// An answer does not wait for a body that a request announces, and the connection ends although none arrives.
func TestAnAnswerDoesNotWaitForABody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(admin.New(admin.Deps{Ready: func() error { return nil }}))
	t.Cleanup(server.Close)
	for _, framing := range []string{"Content-Length: 9", "Expect: 100-continue\r\nContent-Length: 9", "Transfer-Encoding: chunked"} {
		t.Run(framing, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // ends a hang
			_, _ = io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n"+framing+"\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusOK || !answer.Close {
				t.Errorf("answered %+v %v, want 200 and the end of the connection", answer, err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection does not end")
			}
		})
	}
}

func TestAnswersAreNeverStored(t *testing.T) {
	for _, target := range []string{"/healthz", "/readyz", "/elsewhere"} {
		if got := ask(admin.Deps{}, "GET", target).Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s has Cache-Control %q", target, got)
		}
	}
}
