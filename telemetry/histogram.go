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

// histogram counts values in buckets. The SDK's takes five times as long for a value, because it looks at the attributes each time,
// and five values are counted for each request. Here they are looked at when a point is made. The SDK's readers get what it counts
// like that of any other instrument.
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

	sum, least, most float
}

// float is a float64 that goroutines may change at once.
type float struct{ bits atomic.Uint64 }

func (f *float) load() float64 { return math.Float64frombits(f.bits.Load()) }

// change replaces the value by what next makes of it.
func (f *float) change(value float64, next func(was, value float64) float64) {
	for {
		bits := f.bits.Load()
		was := math.Float64frombits(bits)
		if now := next(was, value); now == was || f.bits.CompareAndSwap(bits, math.Float64bits(now)) {
			return
		}
	}
}

func plus(a, b float64) float64    { return a + b }
func lesser(a, b float64) float64  { return min(a, b) }
func greater(a, b float64) float64 { return max(a, b) }

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
	if len(h.points) >= mostSeries-1 {
		set = overflow
		if p := h.points[set.Equivalent()]; p != nil {
			return p
		}
	}
	p := &point{bounds: h.bounds, set: set, counts: make([]atomic.Uint64, len(h.bounds)+1)}
	p.least.bits.Store(math.Float64bits(math.Inf(1)))
	p.most.bits.Store(math.Float64bits(math.Inf(-1)))
	h.points[set.Equivalent()] = p
	return p
}

// record counts a value. A bucket holds what is at most its bound.
func (p *point) record(value float64) {
	if p == nil {
		return
	}
	i, _ := slices.BinarySearch(p.bounds, value)
	p.sum.change(value, plus)
	p.least.change(value, lesser)
	p.most.change(value, greater)
	p.counts[i].Add(1)
}

func (p *point) read(begun, now time.Time) metricdata.HistogramDataPoint[float64] {
	read := metricdata.HistogramDataPoint[float64]{
		Attributes: p.set, StartTime: begun, Time: now, Bounds: p.bounds, BucketCounts: make([]uint64, len(p.counts)),
	}
	for i := range p.counts {
		read.BucketCounts[i] = p.counts[i].Load()
		read.Count += read.BucketCounts[i]
	}
	read.Sum, read.Min, read.Max = p.sum.load(), metricdata.NewExtrema(p.least.load()), metricdata.NewExtrema(p.most.load())
	return read
}

// read is what was counted until now; no points: nothing was.
func (h *histogram) read(begun, now time.Time) (points []metricdata.HistogramDataPoint[float64]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.points {
		if read := p.read(begun, now); read.Count > 0 {
			points = append(points, read)
		}
	}
	return points
}

// histograms hand what they counted to a reader.
type histograms struct {
	begun time.Time
	scope instrumentation.Scope
	all   []*histogram
}

// add makes one more. The bounds are in ascending order.
func (h *histograms) add(name, unit, about string, bounds []float64) *histogram {
	one := &histogram{name: name, unit: unit, about: about, bounds: bounds, points: make(map[attribute.Distinct]*point)}
	h.all = append(h.all, one)
	return one
}

// Produce implements the SDK's interface.
func (h *histograms) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	metrics := make([]metricdata.Metrics, 0, len(h.all))
	for _, one := range h.all {
		if points := one.read(h.begun, now); len(points) > 0 {
			data := metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}
			metrics = append(metrics, metricdata.Metrics{Name: one.name, Description: one.about, Unit: one.unit, Data: data})
		}
	}
	return []metricdata.ScopeMetrics{{Scope: h.scope, Metrics: metrics}}, nil
}
