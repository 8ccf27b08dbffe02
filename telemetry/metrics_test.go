package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// The gauge follows what it watches.
func TestStateDegraded(t *testing.T) {
	m, err := NewMetrics()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(t.Context()) })
	degraded := false
	if err := m.WatchState(func() bool { return degraded }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sluice_state_degraded 0", "sluice_state_degraded 1"} {
		page := httptest.NewRecorder()
		m.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("want %s in\n%s", want, page.Body)
		}
		degraded = true
	}
}
