package telemetry

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

func brought(sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
		TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true})
}

// sampling counts how many of n requests are recorded.
func sampling(t *testing.T, name, argument string, move time.Duration) func(client trace.SpanContext, n int) int {
	t.Setenv("OTEL_TRACES_SAMPLER", name)
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", argument)
	now := time.Unix(1000, 0)
	s := newSampler(slog.New(slog.DiscardHandler), func() time.Time { return now })
	return func(client trace.SpanContext, n int) (recorded int) {
		for range n {
			if s.records(client) {
				recorded++
			}
			now = now.Add(move)
		}
		return recorded
	}
}

// A client may exclude its trace; it may have it recorded a few times a second, whatever its id.
func TestClientsCannotChooseWhatIsSampled(t *testing.T) {
	within := sampling(t, "traceidratio", "0", 0)
	if n := within(brought(true), 1000); n != flaggedPerSecond {
		t.Errorf("%d of a second were granted", n)
	}
	if n := within(trace.SpanContext{}, 1000); n != 0 {
		t.Errorf("%d of requests without a client's trace", n)
	}
	over := sampling(t, "traceidratio", "0", time.Second/5)
	if n := over(brought(true), 100); n != 100 {
		t.Errorf("%d of 100 that wanted it, five a second", n)
	}
	off := sampling(t, "always_off", "", 0)
	if n := off(brought(true), 100); n != 0 {
		t.Errorf("%d are recorded although recording is off", n)
	}
	all := sampling(t, "", "", 0)
	if n := all(brought(false), 100); n != 0 {
		t.Errorf("%d clients that wanted no trace were recorded", n)
	}
}

// With a ratio that part of the requests is recorded, plus the ones that clients want.
func TestPartsAreRecorded(t *testing.T) {
	if n := sampling(t, "parentbased_always_on", "", 0)(trace.SpanContext{}, 5000); n != 5000 {
		t.Errorf("%d of 5000 recorded", n)
	}
	some := sampling(t, "traceidratio", "0.1", time.Second/1000)
	if n := some(brought(true), 20_000); math.Abs(float64(n)-2200) > 250 { // a tenth, and ten a second that want it
		t.Errorf("%d of 20,000 recorded, want about 2,200", n)
	}
}

// The ratio is that of the SDK's own variables, and a faulty one is logged.
func TestRatio(t *testing.T) {
	for _, tt := range []struct {
		name, argument string
		want           float64
		warns          string
	}{
		{"", "", 1, ""},
		{"always_off", "", 0, ""},
		{"parentbased_always_on", "", 1, ""},
		{"parentbased_always_off", "", 0, ""},
		{"parentbased_traceidratio", "0.25", 0.25, ""},
		{"traceidratio", "", 1, ""},
		{"traceidratio", "CANARY", 1, "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "2", 1, "OTEL_TRACES_SAMPLER_ARG"},
		{"CANARY", "", 1, "OTEL_TRACES_SAMPLER:"},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", tt.name)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", tt.argument)
		var log bytes.Buffer
		got := readRatio(slog.New(slog.NewTextHandler(&log, nil)))
		if got != tt.want || !strings.Contains(log.String(), tt.warns) || (tt.warns == "") != (log.Len() == 0) ||
			strings.Contains(log.String(), "CANARY") {
			t.Errorf("%s %s: %v, it logs %s", tt.name, tt.argument, got, log.String())
		}
	}
}
