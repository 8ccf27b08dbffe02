package otlp

import (
	"errors"
	"testing"
)

// A collector that accepts a part of a batch loses only the rest, and one that only warns loses nothing.
func TestPartialSuccess(t *testing.T) {
	for text, want := range map[string]int64{
		"traces export: OTLP partial success: too old (1 spans rejected)":                  1,
		"logs export: OTLP partial success: too (many (1 logs rejected) (7 logs rejected)": 7,
		"OTLP partial success: two\nlines (3 spans rejected)":                              3,
		"OTLP partial success: a warning (0 spans rejected)":                               0,
		"OTLP partial success: more than there were (99 spans rejected)":                   10,
		"OTLP partial success: (99999999999999999999 spans rejected)":                      10,
		"context deadline exceeded":                                                        10,
	} {
		if got := rejected(errors.New(text), 10); got != want {
			t.Errorf("%s: %d are lost, want %d", text, got, want)
		}
	}
}
