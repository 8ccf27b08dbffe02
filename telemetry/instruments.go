package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"sluice/policy/unit"
)

// instruments measure and count requests. Values that are read at a scrape have no field.
type instruments struct {
	served   *series[servedKey, *point]
	calls    *series[callKey, callPoints]
	redis    *series[redisKey, *point]
	overhead *point
	queued   *series[string, *point] // by team

	active  metric.Int64UpDownCounter // requests in flight
	surplus metric.Int64Counter       // connections to the service
	charged [unit.Count]charged

	used *series[usedKey, []metric.AddOption]

	refusals                                                counter[refusedKey]
	hooks                                                   counter[hookKey]
	houseAlerts                                             counter[Passed]
	polls, settlements, unpriced, alarms, warnings, reloads counter[string]
}

func (i *instruments) register(meter metric.Meter, provider string) error {
	b := &builder{meter: meter}
	served := b.histogram(httpDuration, "s", "duration of requests, from arrival to the end of the answer", durationBounds)
	i.served = newSeries(func(k servedKey) *point { return newPoint(served, k.labels()...) })
	redis := b.histogram(redisDuration, "s", "duration of calls of Redis", overheadBounds)
	i.redis = newSeries(func(k redisKey) *point { return newPoint(redis, k.labels()...) })
	i.calls = newCallPoints(b, provider)
	i.overhead = newPoint(b.histogram(ownOverhead, "s", "the part of a request's duration that is spent neither on upstream nor on the "+
		"client's connection", overheadBounds))
	queued := b.histogram(ownQueue, "s", "how long requests that waited for their turn waited, by team", durationBounds)
	i.queued = newSeries(func(team string) *point { return newPoint(queued, labelTeam.String(team)) })
	i.used = newSeries(func(k usedKey) []metric.AddOption {
		return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(labelTeam.String(k.team), labelModel.String(k.model)))}
	})
	for n, u := range unit.Table {
		switch name := ownUnit + string(u.Name); {
		case u.Charged == "":
		case u.Money:
			of := b.floatCounter(name, u.UCUM, u.Charged)
			i.charged[n] = func(c *Cost, with ...metric.AddOption) {
				of.Add(context.Background(), c.Money.InWhole(u.Name, c.Amounts[n]), with...)
			}
		default:
			of := b.counter(name, u.UCUM, u.Charged)
			i.charged[n] = func(c *Cost, with ...metric.AddOption) { of.Add(context.Background(), c.Amounts[n], with...) }
		}
	}
	i.refusals = newCounter(b.counter(ownRefusals, "{refusal}", "requests that Sluice refused, by stage and reason"), refusedKey.labels)
	i.hooks = newCounter(b.counter(ownHooks, "{delivery}", "attempts to deliver an event to a hook, by the hook's id and the outcome"),
		hookKey.labels)
	i.polls = b.counts(ownPolls, "{poll}", "polls of tasks, by where the answer came from", labelSource)
	i.settlements = b.counts(ownSettlements, "{settlement}", "settlements, by how the amount was found", labelOutcome)
	i.unpriced = b.counts(ownUnpriced, "{request}", "requests whose tokens or images were charged nothing because the teams file has no "+
		"price of these for their model, but has prices, by model", labelModel)
	i.reloads = b.counts(ownReloads, "{reload}", "readings of a changed teams file, by outcome", labelOutcome)
	i.alarms = b.counts(ownAlarms, "{alarm}", "answers of upstream and requests of clients that an operator must look into, by code",
		labelCode)
	i.warnings = b.counts(ownWarnings, "{warning}", "requests that break a rule whose mode is warn, by rule", labelRule)
	i.houseAlerts = newCounter(b.counter(ownHouseAlerts, "{alert}", "per cent of a quota of all teams together that were passed, counted "+
		"by the replica that reported it"), Passed.labels)
	i.surplus = b.counter(ownSurplus, "{connection}", "connections that were closed because upstream sent bytes that no request had asked for")
	var err error
	i.active, err = meter.Int64UpDownCounter(httpActive, metric.WithUnit("{request}"), metric.WithDescription("requests in flight"))
	b.note(err)
	if b.err == nil { // makes the series exist from the start
		i.beginOwn()
	}
	return b.err
}

// charged counts the charge in one unit; nil: the unit is not counted.
type charged func(c *Cost, with ...metric.AddOption)

// builder makes instruments and joins their errors.
type builder struct {
	meter metric.Meter
	err   error
}

func (b *builder) note(err error) { b.err = errors.Join(b.err, err) }

func (b *builder) counter(name, unit, about string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
	b.note(err)
	return c
}

// counts makes a counter with one label.
func (b *builder) counts(name, unit, about string, label attribute.Key) counter[string] {
	return newCounter(b.counter(name, unit, about), func(value string) []attribute.KeyValue {
		return []attribute.KeyValue{label.String(value)}
	})
}

func (b *builder) floatCounter(name, unit, about string) metric.Float64Counter {
	c, err := b.meter.Float64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
	b.note(err)
	return c
}

// histogram makes a histogram with these bounds, in ascending order.
func (b *builder) histogram(name, unit, about string, bounds []float64) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(about),
		metric.WithExplicitBucketBoundaries(bounds...))
	b.note(err)
	return h
}

// gauge makes a gauge that calls read at each scrape; false leaves the series out.
func (b *builder) gauge(name, unit, about string, read func() (value float64, known bool)) {
	b.gauges(name, unit, about, func(_ context.Context, o metric.Float64Observer) error {
		if value, known := read(); known {
			o.Observe(value)
		}
		return nil
	})
}

// gauges makes a gauge whose series observe reports at each scrape.
func (b *builder) gauges(name, unit, about string, observe metric.Float64Callback) {
	_, err := b.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithFloat64Callback(observe))
	b.note(err)
}

// intGauges is gauges for whole numbers.
func (b *builder) intGauges(name, unit, about string, observe metric.Int64Callback) {
	_, err := b.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithInt64Callback(observe))
	b.note(err)
}

// totals makes a counter whose series observe reports at each scrape.
func (b *builder) totals(name, unit, about string, observe metric.Int64Callback) {
	_, err := b.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithInt64Callback(observe))
	b.note(err)
}

// series caches what an instrument needs for each set of labels, because making attributes costs more than recording a value. Keys
// come from closed sets, so the teams file bounds their number.
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
	with      []metric.RecordOption // a slice, because a variadic call would allocate one for each value
}

func newPoint(of metric.Float64Histogram, attributes ...attribute.KeyValue) *point {
	return &point{of, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}}
}

func (p *point) record(value float64) {
	if p != nil {
		p.histogram.Record(context.Background(), value, p.with...)
	}
}

// counter is a counter with labels. A key identifies a set of them.
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

// begin makes the series exist.
func (c *counter[K]) begin(key K) { c.of.Add(context.Background(), 0, c.with.get(key)...) }

// The keys of the series.
type (
	servedKey struct {
		method, route, team string
		status              int
	}
	refusedKey struct{ refusal, team string }
	callKey    struct{ operation, model, team, failure string }
	usedKey    struct{ team, model string }
	redisKey   struct{ operation, failure string }
	hookKey    struct{ hook, outcome string }
)

func (k servedKey) labels() []attribute.KeyValue {
	return []attribute.KeyValue{httpMethod.String(k.method), httpRoute.String(k.route), httpStatus.Int(k.status), ownTeam.String(k.team)}
}

func (k refusedKey) labels() []attribute.KeyValue {
	stage, reason, _ := strings.Cut(k.refusal, "/")
	return []attribute.KeyValue{labelStage.String(stage), labelReason.String(reason), labelTeam.String(k.team)}
}

func (k hookKey) labels() []attribute.KeyValue {
	return []attribute.KeyValue{labelHook.String(k.hook), labelOutcome.String(k.outcome)}
}

func (p Passed) labels() []attribute.KeyValue {
	return []attribute.KeyValue{labelUnit.String(p.Unit), labelPeriod.String(p.Period), labelPercent.Int(p.Percent)}
}

func (k redisKey) labels() []attribute.KeyValue {
	return withFailure(k.failure, dbSystem.String("redis"), dbOperation.String(k.operation))
}

// callPoints are the histograms of one call of the service.
type callPoints struct{ duration, input, output, first, each *point }

// newCallPoints leaves out the service's address, because there is only one.
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
