package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
)

// Polls and settlements are counted by kind; without metrics nothing is counted.
func TestCounters(t *testing.T) {
	m, err := newMetrics(Config{}, resource.Empty(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.close(t.Context()) })
	for range 3 {
		m.Poll("hit")
		m.Settlement("exact")
		(*Metrics)(nil).Poll("hit")
		(*Metrics)(nil).Settlement("exact")
	}
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`sluice_polls_total{source="hit"} 3`, `sluice_settlements_total{outcome="exact"} 3`} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("want %s in\n%s", want, page.Body)
		}
	}
}

// The gauge follows its source.
func TestStateDegraded(t *testing.T) {
	m, err := newMetrics(Config{}, resource.Empty(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.close(t.Context()) })
	degraded := false
	if err := m.Watch(Watched{Degraded: func() bool { return degraded }}); err != nil {
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
