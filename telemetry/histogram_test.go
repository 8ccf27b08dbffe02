package telemetry

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"
)

// The histogram tells what the SDK's own tells of the same measurements.
func TestHistogramIsTheSDKs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := durationBounds
		reader := sdk.NewManualReader()
		theirs, err := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter(scope).Float64Histogram("h",
			metric.WithUnit("s"), metric.WithDescription("about"), metric.WithExplicitBucketBoundaries(bounds...))
		if err != nil {
			t.Fatal(err)
		}
		ours := newHistogram("h", "s", "about", bounds)
		for range rapid.IntRange(1, 100).Draw(t, "n") {
			team := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "team")
			value := rapid.OneOf(rapid.SampledFrom(bounds), rapid.Float64Range(0, 500)).Draw(t, "value")
			theirs.Record(context.Background(), value, metric.WithAttributes(labelTeam.String(team)))
			ours.point(labelTeam.String(team)).record(value)
		}
		var read metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &read); err != nil {
			t.Fatal(err)
		}
		want, got := read.ScopeMetrics[0].Metrics[0], ours.read(time.Now(), time.Now())
		if diff := cmp.Diff(want, got,
			cmpopts.IgnoreFields(metricdata.HistogramDataPoint[float64]{}, "StartTime", "Time", "Min", "Max", "Exemplars"),
			cmpopts.SortSlices(func(a, b metricdata.HistogramDataPoint[float64]) bool { return team(a.Attributes) < team(b.Attributes) }),
			cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
			cmpopts.EquateApprox(1e-9, 0),
		); diff != "" {
			t.Fatal(diff)
		}
	})
}

func team(set attribute.Set) string {
	v, _ := set.Value(labelTeam)
	return v.AsString()
}

// Nothing that is measured at the same time is lost.
func TestHistogramCountsAll(t *testing.T) {
	h := newHistogram("h", "s", "", overheadBounds)
	var measuring sync.WaitGroup
	for range 8 {
		measuring.Go(func() {
			p := h.point()
			for range 1000 {
				p.record(0.5)
			}
		})
	}
	measuring.Wait()
	point := h.read(time.Now(), time.Now()).Data.(metricdata.Histogram[float64]).DataPoints[0]
	if point.Count != 8000 || math.Abs(point.Sum-4000) > 1e-6 {
		t.Errorf("%d measurements of %v, want 8000 of 4000", point.Count, point.Sum)
	}
}

// H13: however many sets of attributes there are, points are bounded.
func TestH13HistogramIsBounded(t *testing.T) {
	h := newHistogram("h", "s", "", overheadBounds)
	for i := range 2 * mostSeries {
		h.point(attribute.Int("i", i)).record(1)
	}
	if n := len(h.points); n != mostSeries+1 {
		t.Errorf("%d points", n)
	}
	if got := h.points[overflow.Equivalent()].counts[len(overheadBounds)-1].Load(); got != mostSeries {
		t.Errorf("%d are in the overflow", got)
	}
}
