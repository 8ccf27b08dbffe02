package wire

import (
	"net/http"
	"strings"
	"testing"
)

// What a header says of a body must be said once, and be what can be read.
func TestBodiesAreDescribedOnce(t *testing.T) {
	const json, form = "application/json", "multipart/form-data; boundary=x"
	for _, tt := range []struct {
		about  string
		judge  func(http.Header) error
		header http.Header
		want   string // in the message; empty: none
	}{
		{"JSON", DescribesJSON, http.Header{"Content-Type": {json}}, ""},
		{"JSON in UTF-8", DescribesJSON, http.Header{"Content-Type": {json + "; charset=UTF-8"}, "Content-Encoding": {"identity"}}, ""},
		{"JSON in another charset", DescribesJSON, http.Header{"Content-Type": {json + "; charset=latin1"}}, "charset"},
		{"compressed JSON", DescribesJSON, http.Header{"Content-Type": {json}, "Content-Encoding": {"gzip"}}, "compressed"},
		{"no type", DescribesJSON, http.Header{}, "0 times"},
		{"two types", DescribesJSON, http.Header{"Content-Type": {json, json}}, "2 times"},
		{"a form as JSON", DescribesJSON, http.Header{"Content-Type": {form}}, "allowed application/json"},
		{"a form", DescribesForm, http.Header{"Content-Type": {form}}, ""},
		{"a form without a boundary", DescribesForm, http.Header{"Content-Type": {"multipart/form-data"}}, "boundary"},
		{"anything once", DescribesOnce, http.Header{"Content-Type": {"a/b"}, "Content-Encoding": {"br"}}, ""},
		{"two encodings", DescribesOnce, http.Header{"Content-Encoding": {"br", "gzip"}}, "Content-Encoding: given 2 times"},
	} {
		if err := tt.judge(tt.header); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.about, err, tt.want)
		}
	}
}
