package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/admin"
)

// A host name that an attacker points at the listener's address (DNS rebinding) is refused.
func TestTheAdminListenerAnswersItsOwnNames(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sluice_requests")) })
	handler := admin.New(admin.Deps{Ready: func() error { return nil }, Metrics: page, Pprof: true,
		Hosts: []string{"sluice", "sluice.monitoring.svc"}})
	for _, tt := range []struct {
		host string
		want int
	}{
		{"127.0.0.1:8081", 200},
		{"127.0.0.1", 200},
		{"10.1.2.3:8081", 200}, // the pod's, as the kubelet and Prometheus send it
		{"[::1]:8081", 200},
		{"[::1]", 200},
		{"[fd00::1]:8081", 200},
		{"localhost:8081", 200},
		{"LocalHost", 200},
		{"localhost.:8081", 200},
		{"", 200}, // HTTP/1.0
		{"sluice:8081", 200},
		{"SLUICE", 200},
		{"sluice.monitoring.svc:8081", 200},
		{"evil.example:8081", 421},
		{"evil.example", 421},
		{"localhost.evil.example", 421},
		{"127.0.0.1.evil.example:8081", 421},
		{"notsluice:8081", 421},
		{"a.sluice:8081", 421},
		{"2130706433:8081", 421}, // a Host header never has an address in this form
		{"127.0.0.1:8081:8081", 421},
		{"sluice:8081@evil.example", 421},
	} {
		for _, target := range []string{"/healthz", "/readyz?verbose", "/metrics", "/debug/pprof/", "/x"} {
			request := httptest.NewRequest("GET", target, nil)
			request.Host = tt.host
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			want := tt.want
			if target == "/x" && want == 200 {
				want = 404
			}
			if answer.Code != want || want == 421 && !strings.Contains(answer.Body.String(), "SLUICE_ADMIN_HOSTS") {
				t.Errorf("%s of %q: %d %q, want %d", target, tt.host, answer.Code, answer.Body, want)
			}
		}
	}
}
