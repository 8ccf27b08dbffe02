package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// point is a histogram under one set of attributes, which is made once. A nil point counts nothing.
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
