package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestReadinessNamesABoundForAMinute: a bound that was reached is in readiness for a minute and once in the log; the other
// bound is in neither.
func TestReadinessNamesABoundForAMinute(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var log bytes.Buffer
	b := &bounds{now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil))}
	reached := b.add("readings: 20 a second for each person")
	b.add("listeners: 20 for each team")
	if err := b.state(); err != nil {
		t.Errorf("before: %v", err)
	}
	reached()
	now = now.Add(time.Second)
	reached()
	now = now.Add(time.Minute)
	const want = "readings: 20 a second for each person (reached 2 times since the start, the last within a minute)"
	if err := b.state(); err == nil || err.Error() != want {
		t.Errorf("after a minute: %v, want %s", err, want)
	}
	if n := strings.Count(log.String(), "readings"); n != 1 || strings.Contains(log.String(), "listeners") {
		t.Errorf("the log is %q, want the reached bound once", log.String())
	}
	now = now.Add(time.Second)
	if err := b.state(); err != nil {
		t.Errorf("later: %v", err)
	}
	reached()
	if n := strings.Count(log.String(), "readings"); n != 2 {
		t.Errorf("the bound is logged %d times, want once more after a minute", n)
	}
}
