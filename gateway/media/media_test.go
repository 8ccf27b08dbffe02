package media

import (
	"net/http"
	"strings"
	"testing"
)

// What a header says of a body must be said once, and be what can be read.
func TestBodiesAreDescribedOnce(t *testing.T) {
	const document, form = "application/json", "multipart/form-data; boundary=x"
	for _, tt := range []struct {
		about  string
		judge  func(http.Header) error
		header http.Header
		want   string // in the message; empty: none
	}{
		{"JSON", JSON, http.Header{"Content-Type": {document}}, ""},
		{"JSON in UTF-8", JSON, http.Header{"Content-Type": {document + "; charset=UTF-8"}, "Content-Encoding": {"identity"}}, ""},
		{"JSON in another charset", JSON, http.Header{"Content-Type": {document + "; charset=latin1"}}, "charset"},
		{"compressed JSON", JSON, http.Header{"Content-Type": {document}, "Content-Encoding": {"gzip"}}, "compressed"},
		{"no type", JSON, http.Header{}, "0 times"},
		{"two types", JSON, http.Header{"Content-Type": {document, document}}, "2 times"},
		{"a form as JSON", JSON, http.Header{"Content-Type": {form}}, "allowed application/json"},
		{"a form", Form, http.Header{"Content-Type": {form}}, ""},
		{"a form without a boundary", Form, http.Header{"Content-Type": {"multipart/form-data"}}, "boundary"},
		{"anything once", Once, http.Header{"Content-Type": {"a/b"}, "Content-Encoding": {"br"}}, ""},
		{"two encodings", Once, http.Header{"Content-Encoding": {"br", "gzip"}}, "Content-Encoding: given 2 times"},
	} {
		if err := tt.judge(tt.header); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.about, err, tt.want)
		}
	}
}
