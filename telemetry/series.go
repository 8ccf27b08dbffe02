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
type series[K comparable, V any] struct {
	of func(K) V

	mu    sync.RWMutex
	known map[K]V
}

func newSeries[K comparable, V any](of func(K) V) *series[K, V] {
	return &series[K, V]{of: of, known: make(map[K]V)}
}

func (s *series[K, V]) get(key K) V {
	s.mu.RLock()
	value, ok := s.known[key]
	s.mu.RUnlock()
	if ok {
		return value
	}
	value = s.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = value
	return value
}

// labelled is a set of attributes as counters take it: a list, because one that is made for each call is an allocation.
func labelled(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
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
