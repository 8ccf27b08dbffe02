package telemetry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"
)

// The histogram tells what the SDK's tells of the same measurements.
func TestHistogramIsTheSDKs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := durationBounds
		reader := sdk.NewManualReader()
		theirs, err := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter(scope).Float64Histogram("h",
			metric.WithUnit("s"), metric.WithDescription("about"), metric.WithExplicitBucketBoundaries(bounds...))
		if err != nil {
			t.Fatal(err)
		}
		var all histograms
		ours := all.add("h", "s", "about", bounds)
		for range rapid.IntRange(1, 100).Draw(t, "n") {
			team := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "team")
			value := rapid.OneOf(rapid.SampledFrom(bounds), rapid.Float64Range(0, 500)).Draw(t, "value")
			theirs.Record(context.Background(), value, metric.WithAttributes(labelTeam.String(team)))
			ours.point(labelTeam.String(team)).record(value)
		}
		var want metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &want); err != nil {
			t.Fatal(err)
		}
		got, err := all.Produce(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.ScopeMetrics[0].Metrics, got[0].Metrics,
			cmpopts.IgnoreFields(metricdata.HistogramDataPoint[float64]{}, "StartTime", "Time", "Exemplars"),
			cmpopts.SortSlices(func(a, b metricdata.HistogramDataPoint[float64]) bool { return team(a.Attributes) < team(b.Attributes) }),
			cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
			cmp.AllowUnexported(metricdata.Extrema[float64]{}),
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
