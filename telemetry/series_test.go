package telemetry

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func openMetrics(t *testing.T) *Metrics {
	t.Helper()
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tells.Close(t.Context()) }) // nothing is sent
	return tells.Metrics
}

// Concurrent measurements are all counted.
func TestHistogramCountsAll(t *testing.T) {
	m := openMetrics(t)
	var measuring sync.WaitGroup
	for range 8 {
		measuring.Go(func() {
			for range 1000 {
				m.Redis("get", "", 500*time.Millisecond)
			}
		})
	}
	measuring.Wait()
	const labels = `{db_operation_name="get",db_system_name="redis"}`
	for _, want := range []string{"_sum" + labels + " 4000\n", "_count" + labels + " 8000\n"} {
		if page := pageOf(m); !strings.Contains(page, "db_client_operation_duration_seconds"+want) {
			t.Errorf("want %s in\n%s", want, page)
		}
	}
}

// However many sets of attributes there are, the series are bounded, and further ones are counted together.
func TestHistogramIsBounded(t *testing.T) {
	m := openMetrics(t)
	for i := range 2 * mostSeries {
		m.Redis(fmt.Sprint(i), "", time.Millisecond)
	}
	page := pageOf(m)
	series := regexp.MustCompile(`(?m)^db_client_operation_duration_seconds_count\{.*\} (\d+)$`).FindAllStringSubmatch(page, -1)
	if len(series) > mostSeries+1 || len(series) < mostSeries-1 {
		t.Errorf("%d series", len(series))
	}
	overflow := fmt.Sprintf(`_count{otel_metric_overflow="true"} %d`, 2*mostSeries-len(series)+1)
	if !strings.Contains(page, "db_client_operation_duration_seconds"+overflow+"\n") {
		t.Errorf("want %s", overflow)
	}
}
