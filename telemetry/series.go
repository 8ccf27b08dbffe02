package telemetry

import (
	"net/http"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// series are the attribute sets of one instrument, each made once: to make one costs more than to count with it. The
// keys come from closed sets, so their number is bounded by the teams file.
type series[K comparable] struct {
	of func(K) []attribute.KeyValue

	mu    sync.RWMutex
	known map[K]metric.MeasurementOption
}

func newSeries[K comparable](of func(K) []attribute.KeyValue) *series[K] {
	return &series[K]{of: of, known: make(map[K]metric.MeasurementOption)}
}

func (s *series[K]) get(key K) metric.MeasurementOption {
	s.mu.RLock()
	set, ok := s.known[key]
	s.mu.RUnlock()
	if ok {
		return set
	}
	set = metric.WithAttributeSet(attribute.NewSet(s.of(key)...))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = set
	return set
}

// statusLabel keeps the statuses that HTTP has a name for, and 499, ours for a client that left. Upstream may answer any
// number, and every one would be a series.
func statusLabel(status int) int {
	if status == statusGone || http.StatusText(status) != "" {
		return status
	}
	return status / 100 * 100
}

const statusGone = 499

// failure is error.type of an answer, from a closed set: a refusal's name, or the status; "" where all is well.
func failure(refusal string, status int) string {
	switch {
	case refusal != "":
		return refusal
	case status >= http.StatusBadRequest:
		return strconv.Itoa(statusLabel(status))
	}
	return ""
}

// methodLabel keeps the methods that are served; a client may send any word.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "_OTHER"
}
