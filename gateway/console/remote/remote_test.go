package remote_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/console/remote"
	"sluice/policy/teams"
)

const token = "token-canary"

// asked asks a server that answers so, and returns what it was asked.
func asked(t *testing.T, answer http.HandlerFunc, body []byte, ifMatch string) (a remote.Answer, request string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		h := r.Header
		request = strings.Join([]string{r.Method, r.URL.String(), h.Get("Authorization"), h.Get("Content-Type"), h.Get("If-Match"),
			string(text)}, " ")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	a, err = remote.New(server.URL, token).Call(t.Context(), http.MethodPatch,
		remote.Reasoned(remote.TeamPath("a b", "keys", "x/y"), "why & how"), body, ifMatch)
	return a, request, err
}

func TestACall(t *testing.T) {
	ok := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"1"`)
		_, _ = io.WriteString(w, `{"id":"x"}`)
	}
	for _, tt := range []struct {
		body          []byte
		ifMatch, want string
	}{
		{[]byte("{}"), "*", `PATCH /api/v1/teams/a%20b/keys/x%2Fy?reason=why+%26+how Bearer token-canary application/json * {}`},
		{nil, "", `PATCH /api/v1/teams/a%20b/keys/x%2Fy?reason=why+%26+how Bearer token-canary   `},
	} {
		a, request, err := asked(t, ok, tt.body, tt.ifMatch)
		var key struct{ ID string }
		if request != tt.want || err != nil || a.Into(&key) != nil || key.ID != "x" || a.ETag != `"1"` {
			t.Errorf("asked %q, want %q; got %+v, %v", request, tt.want, key, err)
		}
	}
	if (remote.Answer{Body: []byte("<html>")}).Into(new(map[string]any)) == nil {
		t.Error("a page is JSON")
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	answers := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for about, tt := range map[string]struct {
		answer  http.HandlerFunc
		want    string
		missing bool
	}{
		"a refusal": {answers(404, `{"status":404,"code":"missing","field":"id","detail":"there is no such team\u001b[2J"}`),
			`id: there is no such team\x1b[2J`, true},
		"a wrong token": {answers(401, `{"status":401,"code":"login","detail":"no valid token"}`),
			"no valid token; look at SLUICE_CONSOLE_TOKEN_FILE", false},
		"a page":     {answers(404, "<html>"), "SLUICE_CONSOLE_URL answers 404 Not Found, and not as a console does", false},
		"a redirect": {answers(307, ""), "SLUICE_CONSOLE_URL answers 307 Temporary Redirect, and not as a console does", false},
		"too much":   {answers(200, strings.Repeat("x", 16<<20+1)), "ask the console: its answer is larger than 16 MiB", false},
	} {
		_, _, err := asked(t, tt.answer, nil, "")
		if err == nil || err.Error() != tt.want || remote.IsMissing(err) != tt.missing || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %s", about, err, tt.want)
		}
	}
	var p remote.Problem
	if _, _, err := asked(t, answers(422, `{"status":422,"code":"unfit"}`), nil, ""); !errors.As(err, &p) || p.Code != teams.CodeUnfit {
		t.Errorf("%v", err)
	}
	if _, err := remote.New("http://127.0.0.1:1", token).Call(t.Context(), "GET", "", nil, ""); err == nil ||
		!strings.HasPrefix(err.Error(), "ask the console: ") {
		t.Errorf("%v", err)
	}
	if _, err := remote.New("\x7f", token).Call(t.Context(), "GET", "", nil, ""); err == nil ||
		err.Error() != "SLUICE_CONSOLE_URL is not an address" {
		t.Errorf("%v", err)
	}
}
