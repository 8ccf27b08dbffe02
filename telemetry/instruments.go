package telemetry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments measure and count requests. Values read at a scrape have no field.
type instruments struct {
	histograms histograms

	httpDuration *histogram
	overhead     *point

	callDuration, firstChunk, eachChunk, tokens *histogram
	redisDuration                               *histogram

	refusals metric.Int64Counter
	used     *series[usedKey, *usedCounts]

	active  atomic.Int64 // requests in flight
	surplus atomic.Int64 // connections to the service

	polls, settlements, alarms, warnings, reloads labelCounter
}

func (i *instruments) register(meter metric.Meter) error {
	b := builder{meter: meter}
	i.httpDuration = i.histograms.add(httpDuration, "s", "duration of requests, from arrival to the end of the answer", durationBounds)
	i.overhead = i.histograms.add(ownOverhead, "s", "the part of a request's duration that is spent neither on upstream nor on the client's connection", overheadBounds).point()
	i.callDuration = i.histograms.add(genDuration, "s", "duration of calls of the service", durationBounds)
	i.firstChunk = i.histograms.add(genFirstChunk, "s", "time to the first bytes of a stream", durationBounds)
	i.eachChunk = i.histograms.add(genEachChunk, "s", "time between arrivals of bytes of a stream", durationBounds)
	i.redisDuration = i.histograms.add(redisDuration, "s", "duration of calls of Redis", overheadBounds)
	i.tokens = i.histograms.add(genTokens, "{token}", "tokens that a call used, by type", tokenBounds)
	i.used = newSeries(func(k usedKey) *usedCounts {
		return &usedCounts{attributes: metric.WithAttributeSet(attribute.NewSet(labelTeam.String(k.team), labelModel.String(k.model)))}
	})
	b.used(i.used)
	i.refusals = b.counter(ownRefusals, "{refusal}", "requests that Sluice refused, by stage and reason")
	b.counts(&i.polls, ownPolls, "{poll}", "polls of tasks, by where the answer came from", labelSource)
	b.counts(&i.settlements, ownSettlements, "{settlement}", "settlements, by how the amount came about", labelOutcome)
	b.counts(&i.reloads, ownReloads, "{reload}", "readings of a changed teams file, by outcome", labelOutcome)
	b.counts(&i.alarms, ownAlarms, "{alarm}", "what upstream or a client said that an operator has to look into, by code", labelCode)
	b.counts(&i.warnings, ownWarnings, "{warning}", "requests that break a rule whose mode is warn, by rule", labelRule)
	b.total(ownSurplus, "{connection}", "connections on which upstream said what it was not asked, and that were closed for it", i.surplus.Load)
	b.gauge(httpActive, "{request}", "requests in flight", func() (float64, bool) { return float64(i.active.Load()), true })
	return b.err
}

// labelCounter counts by the value of one label. The zero value counts; [builder.counts] shows it.
type labelCounter struct{ counts sync.Map } // value of the label → *atomic.Int64

func (c *labelCounter) add(value string) {
	n, ok := c.counts.Load(value)
	if !ok {
		n, _ = c.counts.LoadOrStore(value, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// builder makes instruments and joins their errors, so that a list of them reads as one.
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

// used shows what teams were charged.
func (b *builder) used(by *series[usedKey, *usedCounts]) {
	b.totals(ownImages, "{image}", "images that were charged", func(_ context.Context, o metric.Int64Observer) error {
		by.each(func(u *usedCounts) {
			if n := u.images.Load(); n > 0 {
				o.Observe(n, u.attributes)
			}
		})
		return nil
	})
	about := metric.WithDescription("money that was charged, in the teams file's currency")
	_, err := b.meter.Float64ObservableCounter(ownSpend, about, metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
		by.each(func(u *usedCounts) {
			if n := u.spend.Load(); n > 0 {
				o.Observe(float64(n)/1e9, u.attributes)
			}
		})
		return nil
	}))
	b.note(err)
}

// gauge shows what read returns at a scrape; false leaves it out.
func (b *builder) gauge(name, unit, about string, read func() (value float64, known bool)) {
	b.gauges(name, unit, about, func(_ context.Context, o metric.Float64Observer) error {
		if value, known := read(); known {
			o.Observe(value)
		}
		return nil
	})
}

// gauges shows what observe tells at a scrape.
func (b *builder) gauges(name, unit, about string, observe metric.Float64Callback) {
	_, err := b.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithFloat64Callback(observe))
	b.note(err)
}

// intGauges is gauges for whole numbers.
func (b *builder) intGauges(name, unit, about string, observe metric.Int64Callback) {
	_, err := b.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithInt64Callback(observe))
	b.note(err)
}

// total shows a count that read returns at a scrape.
func (b *builder) total(name, unit, about string, read func() int64) {
	b.totals(name, unit, about, func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(read())
		return nil
	})
}

// totals shows the counts that observe tells at a scrape.
func (b *builder) totals(name, unit, about string, observe metric.Int64Callback) {
	_, err := b.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about), metric.WithInt64Callback(observe))
	b.note(err)
}

// counts shows a labelCounter.
func (b *builder) counts(c *labelCounter, name, unit, about string, label attribute.Key) {
	b.totals(name, unit, about, func(_ context.Context, o metric.Int64Observer) error {
		c.counts.Range(func(value, n any) bool {
			o.Observe(n.(*atomic.Int64).Load(), metric.WithAttributes(label.String(value.(string))))
			return true
		})
		return nil
	})
}
