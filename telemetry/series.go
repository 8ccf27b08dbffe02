package telemetry

import (
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// series makes what an instrument needs for a set of labels once: to make the attributes costs more than to count with them.
// Keys come from closed sets, so their number is bounded by the teams file.
type series[K comparable, V any] struct {
	build func(K) V

	mu    sync.RWMutex
	built map[K]V
}

func newSeries[K comparable, V any](build func(K) V) *series[K, V] {
	return &series[K, V]{build: build, built: make(map[K]V)}
}

func (s *series[K, V]) get(key K) V {
	s.mu.RLock()
	value, ok := s.built[key]
	s.mu.RUnlock()
	if ok {
		return value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok = s.built[key]; !ok { // built once: it may count
		value = s.build(key)
		s.built[key] = value
	}
	return value
}

// each calls see with every value.
func (s *series[K, V]) each(see func(V)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, value := range s.built {
		see(value)
	}
}

// What the labels of an instrument are made from.
type (
	servedKey struct {
		method, route, team string
		status              int
	}
	refusedKey struct{ refusal, team string }
	callKey    struct{ operation, model, team, failure string }
	usedKey    struct{ team, model string }
	redisKey   struct{ operation, failure string }
)

// usedCounts is what a team was charged for a model.
type usedCounts struct {
	attributes metric.ObserveOption
	images     atomic.Int64
	spend      atomic.Int64 // in 10⁻⁹ of the currency
}

// labelled are the instruments that have labels, by them.
type labelled struct {
	served  *series[servedKey, *point]
	calls   *series[callKey, callPoints]
	redis   *series[redisKey, *point]
	refused *series[refusedKey, []metric.AddOption]
}

// callPoints are measured together at a call of the service.
type callPoints struct{ duration, input, output, first, each *point }

func (i *instruments) label(provider string) labelled {
	return labelled{
		served: newSeries(func(k servedKey) *point {
			return i.httpDuration.point(httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team))
		}),
		calls: newSeries(func(k callKey) callPoints { return i.callPoints(provider, k) }),
		redis: newSeries(func(k redisKey) *point {
			return i.redisDuration.point(withFailure(k.failure, dbSystem.String("redis"), dbOperation.String(k.operation))...)
		}),
		refused: newSeries(func(k refusedKey) []metric.AddOption {
			stage, reason, _ := strings.Cut(k.refusal, "/")
			return addOptions(labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team))
		}),
	}
}

// callPoints leaves out the service's address, of which there is one.
func (i *instruments) callPoints(provider string, k callKey) callPoints {
	with := func(more ...attribute.KeyValue) []attribute.KeyValue {
		return append(more, genOperation.String(k.operation), genProvider.String(provider), genModel.String(k.model), ownTeam.String(k.team))
	}
	return callPoints{
		duration: i.callDuration.point(withFailure(k.failure, with()...)...),
		input:    i.tokens.point(with(genTokenType.String("input"))...),
		output:   i.tokens.point(with(genTokenType.String("output"))...),
		first:    i.firstChunk.point(with()...),
		each:     i.eachChunk.point(with()...),
	}
}

func withFailure(failure string, attributes ...attribute.KeyValue) []attribute.KeyValue {
	if failure == "" {
		return attributes
	}
	return append(attributes, errorType.String(failure))
}

// addOptions is a set of attributes as counters take it: a list, because to make one for each call would allocate.
func addOptions(attributes ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}
