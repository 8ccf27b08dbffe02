package peers

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineForEach(t *testing.T) {
	fixed := func(took time.Duration, warning string, err error) func(context.Context) (time.Duration, string, error) {
		return func(context.Context) (time.Duration, string, error) { return took, warning, err }
	}
	var out strings.Builder
	err := Try(t.Context(), &out, []Peer{
		{"a", fixed(1500*time.Microsecond, "", nil)}, {"b", fixed(2*time.Millisecond, "slow", nil)},
		{"c", fixed(0, "", &url.Error{URL: "http://CANARY", Err: &net.OpError{Op: "dial", Addr: &net.TCPAddr{Port: 9},
			Err: errors.New("refused")}})},
	})
	const want = "ok: a, 1.5 ms\nwarning: b, 2.0 ms: slow\nwrong: c: refused\n"
	if err == nil || err.Error() != "1 of 3 is wrong" || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestGetJudgesByTheStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-CANARY" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	for key, want := range map[string]string{"sk-CANARY": "", "other": "the key is refused with 401"} {
		_, _, err := Get(http.DefaultTransport, server.URL, key, http.StatusOK)(t.Context())
		if text := ""; err != nil && err.Error() != want || err == nil && want != text {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A round trip is the least of five, and four must fit into the timeout.
func TestTheRoundTripIsComparedWithTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		call := func(context.Context) error {
			calls++
			time.Sleep(100*time.Millisecond + time.Duration(5-calls)*time.Millisecond)
			return nil
		}
		for timeout, want := range map[time.Duration]string{400 * time.Millisecond: "",
			399 * time.Millisecond: "SLUICE_REDIS_TIMEOUT is 399ms, and a pause would count as an outage; set it to at least four round " +
				"trips, 400ms"} {
			calls = 0
			if took, warning, err := RoundTrip(timeout, call)(t.Context()); took != 100*time.Millisecond || warning != want || err != nil {
				t.Errorf("%v: %v %q %v", timeout, took, warning, err)
			}
		}
	})
}
