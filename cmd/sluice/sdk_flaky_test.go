package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// flaky is a way to a gateway on which no first attempt of a library gets its answer. What happens to it is the first segment of
// the path: a status, which is answered in the gateway's place; "after-" and a status, which replaces the gateway's answer; or
// "lost": the connection ends where the gateway's answer would come. Later attempts pass.
func flaky(t *testing.T, gateway string) string {
	t.Helper()
	to, err := url.Parse(gateway)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		way, rest, _ := strings.Cut(r.URL.Path[1:], "/")
		r.URL.Path = "/" + rest
		if r.Header.Get("X-Stainless-Retry-Count") != "0" {
			proxy.ServeHTTP(w, r)
			return
		}
		status, after := strings.CutPrefix(way, "after-")
		if after || way == "lost" {
			answer := httptest.NewRecorder()
			proxy.ServeHTTP(answer, r)
			if answer.Code != http.StatusOK {
				t.Errorf("%s: the gateway answers the first attempt with %d %s", way, answer.Code, answer.Body)
			}
		}
		if way == "lost" {
			panic(http.ErrAbortHandler)
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Errorf("%s is no way", way)
		}
		w.Header().Set("Retry-After-Ms", "1")
		http.Error(w, "", code)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
