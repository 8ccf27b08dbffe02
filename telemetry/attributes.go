package telemetry

import (
	"go.opentelemetry.io/otel/attribute"

	"sluice/telemetry/otlp"
)

// maxList is how many texts a list in a span has.
const maxList = 16

// attributes are gathered at the end of a span and set together.
type attributes []attribute.KeyValue

// text adds a text of at most MaxValue bytes, longer ones cut. An empty text means "not known" and is left out.
func (a *attributes) text(key attribute.Key, value string) {
	if value != "" {
		a.whole(key, otlp.Shorten(value, otlp.MaxValue))
	}
}

// whole adds a text of any length. The caller bounds it.
func (a *attributes) whole(key attribute.Key, value string) {
	*a = append(*a, key.String(otlp.Valid(value)))
}

// texts adds a list of at most maxList texts of at most MaxValue bytes, longer ones cut.
func (a *attributes) texts(key attribute.Key, values []string) {
	kept := make([]string, min(len(values), maxList))
	for i := range kept {
		kept[i] = otlp.Valid(otlp.Shorten(values[i], otlp.MaxValue))
	}
	*a = append(*a, key.StringSlice(kept))
}

// known adds a number unless it is 0, which means "not known".
func (a *attributes) known(key attribute.Key, value int64) {
	if value != 0 {
		a.int(key, value)
	}
}

func (a *attributes) int(key attribute.Key, value int64)     { *a = append(*a, key.Int64(value)) }
func (a *attributes) float(key attribute.Key, value float64) { *a = append(*a, key.Float64(value)) }
func (a *attributes) isTrue(key attribute.Key)               { *a = append(*a, key.Bool(true)) }
