package telemetry

import (
	"context"
	"strings"
	"sync"

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
	value = s.build(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built[key] = value
	return value
}

// point is a histogram with a set of attributes. A nil point counts nothing.
type point struct {
	histogram  metric.Float64Histogram
	attributes []metric.RecordOption
}

func newPoint(h metric.Float64Histogram, attributes ...attribute.KeyValue) *point {
	return &point{h, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}}
}

func (p *point) record(value float64) {
	if p != nil {
		p.histogram.Record(context.Background(), value, p.attributes...)
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

// labelled are the instruments that have labels, by them.
type labelled struct {
	served  *series[servedKey, *point]
	calls   *series[callKey, callPoints]
	redis   *series[redisKey, *point]
	refused *series[refusedKey, []metric.AddOption]
	used    *series[usedKey, []metric.AddOption]
}

// callPoints are measured together at a call of the service.
type callPoints struct{ duration, input, output, first, each *point }

func (i *instruments) label(provider string) labelled {
	return labelled{
		served: newSeries(func(k servedKey) *point {
			return newPoint(i.httpDuration, httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team))
		}),
		calls: newSeries(func(k callKey) callPoints { return i.callPoints(provider, k) }),
		redis: newSeries(func(k redisKey) *point {
			return newPoint(i.redisDuration, withFailure(k.failure, dbSystem.String("redis"), dbOperation.String(k.operation))...)
		}),
		refused: newSeries(func(k refusedKey) []metric.AddOption {
			stage, reason, _ := strings.Cut(k.refusal, "/")
			return addOptions(labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team))
		}),
		used: newSeries(func(k usedKey) []metric.AddOption {
			return addOptions(labelTeam.String(k.team), labelModel.String(k.model))
		}),
	}
}

// callPoints leaves out the service's address, of which there is one.
func (i *instruments) callPoints(provider string, k callKey) callPoints {
	with := func(more ...attribute.KeyValue) []attribute.KeyValue {
		return append(more, genOperation.String(k.operation), genProvider.String(provider), genModel.String(k.model), ownTeam.String(k.team))
	}
	return callPoints{
		duration: newPoint(i.callDuration, withFailure(k.failure, with()...)...),
		input:    newPoint(i.tokens, with(genTokenType.String("input"))...),
		output:   newPoint(i.tokens, with(genTokenType.String("output"))...),
		first:    newPoint(i.firstChunk, with()...),
		each:     newPoint(i.eachChunk, with()...),
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
