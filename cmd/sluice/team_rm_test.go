package main

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answering is a console that is asked in simulated time.
type answering func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// TestATeamIsRemovedOnceItsEndIsInForce: until then another replica may take a request of it, which would be open without a team.
func TestATeamIsRemovedOnceItsEndIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		console := &consoleClient{base: "http://console", http: http.Client{Transport: answering(func(r *http.Request) *http.Response {
			asked = append(asked, time.Now())
			status := http.StatusAccepted
			if r.Header.Get("If-Match") == `"disabled"` {
				status = http.StatusNoContent
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Etag": {`"disabled"`}}, Body: http.NoBody}
		})}}
		var out strings.Builder
		must(t, teamRmCommand{Team: "maps"}.remove(t.Context(), console, &out))
		if len(asked) != 2 || asked[1].Sub(asked[0]) < 2*time.Second || out.String() != "disabled: team maps\nremoved: team maps\n" {
			t.Errorf("asked at %v: %s", asked, out.String())
		}
	})
}
