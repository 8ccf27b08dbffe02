package main

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answering is a console that is asked in simulated time.
type answering func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// TestRmWaitsForTheRemoval, and says so if it takes longer.
func TestRmWaitsForTheRemoval(t *testing.T) {
	for after, want := range map[int]string{
		3: "disabled: team maps\nremoved: team maps\n",
		99: "disabled: team maps\n" +
			"team maps is removed by itself once none of its requests and tasks is open, and every replica has seen that it ends\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			console := &consoleClient{base: "http://console", http: http.Client{Transport: answering(func(r *http.Request) *http.Response {
				asked = append(asked, r.Method)
				status := http.StatusOK
				if len(asked) > after {
					status = http.StatusNotFound
				}
				body := `{"code":"missing","status":` + strconv.Itoa(status) + `}`
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
			})}}
			var out strings.Builder
			begun := time.Now()
			must(t, teamRmCommand{Team: "maps", Wait: 10 * time.Second}.Run(t.Context(), program{stdout: &out}, console))
			took := time.Since(begun)
			if out.String() != want || took != min(time.Duration(after), 10)*time.Second || asked[0] != http.MethodDelete || asked[1] != http.MethodGet {
				t.Errorf("asked %v in %v: %s", asked, took, out.String())
			}
		})
	}
}
