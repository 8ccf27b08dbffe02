package otlp

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// Complaints of exporters are one line a minute, cut short.
func TestComplaints(t *testing.T) {
	var log strings.Builder
	c := newComplaints(slog.New(slog.NewTextHandler(&log, nil)))
	for range 100 {
		c.Handle(errors.New(strings.Repeat("x", 10_000)))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || log.Len() > 500 {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}
