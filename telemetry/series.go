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
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok = s.built[key]; !ok {
		value = s.build(key)
		s.built[key] = value
	}
	return value
}

// point is a histogram with one set of attributes. A nil point counts nothing.
type point struct {
	histogram metric.Float64Histogram
	with      []metric.RecordOption // a list, because to make one for each value would allocate
}

func newPoint(of metric.Float64Histogram, attributes ...attribute.KeyValue) *point {
	return &point{of, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}}
}

func (p *point) record(value float64) {
	if p != nil {
		p.histogram.Record(context.Background(), value, p.with...)
	}
}

// counter is a counter with labels that a key stands for.
type counter[K comparable] struct {
	of   metric.Int64Counter
	with *series[K, []metric.AddOption]
}

func newCounter[K comparable](of metric.Int64Counter, labels func(K) []attribute.KeyValue) counter[K] {
	return counter[K]{of, newSeries(func(k K) []metric.AddOption {
		return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(labels(k)...))}
	})}
}

func (c *counter[K]) add(key K) { c.of.Add(context.Background(), 1, c.with.get(key)...) }

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

func (k servedKey) labels() []attribute.KeyValue {
	return []attribute.KeyValue{httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team)}
}

func (k refusedKey) labels() []attribute.KeyValue {
	stage, reason, _ := strings.Cut(k.refusal, "/")
	return []attribute.KeyValue{labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team)}
}

func (k redisKey) labels() []attribute.KeyValue {
	return withFailure(k.failure, dbSystem.String("redis"), dbOperation.String(k.operation))
}

// callPoints are measured together at a call of the service.
type callPoints struct{ duration, input, output, first, each *point }

// newCallPoints leaves out the service's address, of which there is one.
func newCallPoints(b *builder, provider string) *series[callKey, callPoints] {
	duration := b.histogram(genDuration, "s", "duration of calls of the service", durationBounds)
	first := b.histogram(genFirstChunk, "s", "time to the first bytes of a stream", durationBounds)
	each := b.histogram(genEachChunk, "s", "time between arrivals of bytes of a stream", durationBounds)
	tokens := b.histogram(genTokens, "{token}", "tokens that a call used, by type", tokenBounds)
	return newSeries(func(k callKey) callPoints {
		with := func(more ...attribute.KeyValue) []attribute.KeyValue {
			return append(more, genOperation.String(k.operation), genProvider.String(provider), genModel.String(k.model), ownTeam.String(k.team))
		}
		return callPoints{
			duration: newPoint(duration, withFailure(k.failure, with()...)...),
			input:    newPoint(tokens, with(genTokenType.String("input"))...),
			output:   newPoint(tokens, with(genTokenType.String("output"))...),
			first:    newPoint(first, with()...),
			each:     newPoint(each, with()...),
		}
	})
}

func withFailure(failure string, attributes ...attribute.KeyValue) []attribute.KeyValue {
	if failure == "" {
		return attributes
	}
	return append(attributes, errorType.String(failure))
}
