package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestProblemsOfTheListener are as the interface's document has them: programs distinguish them by code.
func TestProblemsOfTheListener(t *testing.T) {
	h := open(t, false)
	b := h.browser(t)
	expect := func(about string, got answer, status int, code string) {
		t.Helper()
		var p map[string]any
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%s: %v, %s", about, err, got.body)
		}
		for _, member := range []string{"title", "detail"} {
			if text, _ := p[member].(string); text == "" {
				t.Errorf("%s: no %s", about, member)
			}
			delete(p, member)
		}
		if got.status != status || p["status"] != float64(status) || p["code"] != code || len(p) != 2 {
			t.Errorf("%s: %d %v, want %d %s", about, got.status, p, status, code)
		}
	}
	expect("no token", b.send(t, "GET", "/api/v1/me", nil), http.StatusUnauthorized, "login")
	expect("a wrong token", b.send(t, "GET", "/api/v1/me", nil, "Authorization: Bearer x"), http.StatusUnauthorized, "login")
	expect("another site", b.send(t, "POST", "/api/v1/teams", url.Values{}, "Sec-Fetch-Site: cross-site"), http.StatusForbidden, "forbidden")
	expect("another name", b.send(t, "GET", "/api/v1/me", nil, "Host: evil.example"), http.StatusMisdirectedRequest, "host")
	expect("a large body", b.send(t, "POST", "/api/v1/teams", url.Values{"x": {strings.Repeat("x", 1<<20)}}),
		http.StatusRequestEntityTooLarge, "large")
	expect("another version", b.send(t, "GET", "/api/v2/me", nil, "Authorization: Bearer "+token), http.StatusNotFound, "path")
	for range 25 {
		b.send(t, "GET", "/api/v1/me", nil, "Authorization: Bearer x")
	}
	if got := b.send(t, "GET", "/api/v1/me", nil, "Authorization: Bearer "+token); got.body != "token GET /api/v1/me" {
		t.Errorf("the right token after many attempts: %d %s", got.status, got.body)
	}
	expect("many attempts", b.send(t, "GET", "/api/v1/me", nil, "Authorization: Bearer x"), http.StatusTooManyRequests, "attempts")
}

// TestTwoTokens: proxies and libraries take the first or the last of two lines.
func TestTwoTokens(t *testing.T) {
	h := open(t, false)
	for _, lines := range [][]string{{token, "x"}, {"x", token}, {token, token}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/api/v1/me", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range lines {
			request.Header.Add("Authorization", "Bearer "+one)
		}
		got, err := h.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %d", lines, got.StatusCode)
		}
	}
}
