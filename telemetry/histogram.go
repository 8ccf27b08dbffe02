package telemetry

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// histogram is an instrument of its own making: five of them measure every request, and the SDK's take six times as long
// for each measurement, because they look at the attributes every time. Here they are looked at once, when a point is
// made. What it counts is handed to the SDK's readers like that of any other instrument.
type histogram struct {
	name, unit, about string
	bounds            []float64

	mu     sync.Mutex
	points map[attribute.Distinct]*point
}

// point counts what was measured with one set of attributes. A nil point counts nothing.
type point struct {
	bounds []float64
	set    attribute.Set
	counts []atomic.Uint64 // one for each bound, and one past the last
	sum    atomic.Uint64   // a float64's bits
}

func newHistogram(name, unit, about string, bounds []float64) *histogram {
	return &histogram{name: name, unit: unit, about: about, bounds: bounds, points: make(map[attribute.Distinct]*point)}
}

// overflow is the set of all points past mostSeries, as the SDK has it.
var overflow = attribute.NewSet(attribute.Bool("otel.metric.overflow", true))

// point returns the point of a set of attributes.
func (h *histogram) point(attributes ...attribute.KeyValue) *point {
	set := attribute.NewSet(attributes...)
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.points[set.Equivalent()]; p != nil {
		return p
	}
	if len(h.points) >= mostSeries {
		set = overflow
		if p := h.points[set.Equivalent()]; p != nil {
			return p
		}
	}
	p := &point{bounds: h.bounds, set: set, counts: make([]atomic.Uint64, len(h.bounds)+1)}
	h.points[set.Equivalent()] = p
	return p
}

// record counts a value. A bucket holds what is at most its bound.
func (p *point) record(value float64) {
	if p == nil {
		return
	}
	i, _ := slices.BinarySearch(p.bounds, value)
	p.counts[i].Add(1)
	for {
		old := p.sum.Load()
		if p.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			return
		}
	}
}

// read is what was counted until now.
func (h *histogram) read(begun, now time.Time) metricdata.Metrics {
	h.mu.Lock()
	defer h.mu.Unlock()
	points := make([]metricdata.HistogramDataPoint[float64], 0, len(h.points))
	for _, p := range h.points {
		point := metricdata.HistogramDataPoint[float64]{
			Attributes: p.set, StartTime: begun, Time: now, Bounds: h.bounds, BucketCounts: make([]uint64, len(p.counts)),
			Sum: math.Float64frombits(p.sum.Load()),
		}
		for i := range p.counts {
			point.BucketCounts[i] = p.counts[i].Load()
			point.Count += point.BucketCounts[i]
		}
		if point.Count > 0 {
			points = append(points, point)
		}
	}
	return metricdata.Metrics{
		Name: h.name, Description: h.about, Unit: h.unit,
		Data: metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality},
	}
}

// histograms hand what they counted to a reader.
type histograms struct {
	begun time.Time
	scope instrumentation.Scope
	all   []*histogram
}

// add makes one more.
func (h *histograms) add(name, unit, about string, bounds []float64) *histogram {
	one := newHistogram(name, unit, about, bounds)
	h.all = append(h.all, one)
	return one
}

// Produce implements the SDK's interface.
func (h *histograms) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	metrics := make([]metricdata.Metrics, 0, len(h.all))
	for _, one := range h.all {
		if read := one.read(h.begun, now); len(read.Data.(metricdata.Histogram[float64]).DataPoints) > 0 {
			metrics = append(metrics, read)
		}
	}
	return []metricdata.ScopeMetrics{{Scope: h.scope, Metrics: metrics}}, nil
}
