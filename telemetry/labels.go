package telemetry

import (
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// statusClientLeft is the status of a request whose client left before the answer.
const statusClientLeft = 499

// statusLabel rounds statuses that HTTP has no name for, except 499, down to the hundred: the service may answer any number, and each
// would be a series.
func statusLabel(status int) int {
	if status == statusClientLeft || http.StatusText(status) != "" {
		return status
	}
	return status / 100 * 100
}

// failure is error.type of an answer, from a closed set: a refusal's name, or the status; "" for a success.
func failure(refusal string, status int) string {
	switch {
	case refusal != "":
		return refusal
	case status >= http.StatusBadRequest:
		return strconv.Itoa(statusLabel(status))
	}
	return ""
}

// methodLabel returns "_OTHER" for unknown methods: a client may send any word.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "_OTHER"
}

// maxList bounds the texts of a list in a span.
const maxList = 16

// attributes are collected at the end of a span and set together.
type attributes []attribute.KeyValue

// text adds a text, cut to maxValue bytes. An empty text means "not known" and is left out.
func (a *attributes) text(key attribute.Key, value string) {
	if value != "" {
		a.whole(key, shorten(value))
	}
}

// whole adds a text of any length. The caller bounds it.
func (a *attributes) whole(key attribute.Key, value string) {
	*a = append(*a, key.String(valid(value)))
}

// texts adds a list, cut to maxList texts of maxValue bytes.
func (a *attributes) texts(key attribute.Key, values []string) {
	kept := make([]string, min(len(values), maxList))
	for i := range kept {
		kept[i] = valid(shorten(values[i]))
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
