package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func parentOf(remote, sampled bool) context.Context {
	flags := trace.TraceFlags(0)
	if sampled {
		flags = trace.FlagsSampled
	}
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: remote,
	}))
}

// F-T7: a client may have its trace left out; it may have it recorded a few times a second, whatever id it gives it; what
// is ours is recorded whole or not at all.
func TestFT7Sampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	now := time.Unix(1000, 0)
	s := newSampler(slog.New(slog.DiscardHandler), func() time.Time { return now })
	count := func(parent context.Context, n int) (sampled int) {
		for range n {
			if s.ShouldSample(sdktrace.SamplingParameters{ParentContext: parent, TraceID: trace.TraceID{}}).Decision == sdktrace.RecordAndSample {
				sampled++
			}
		}
		return sampled
	}
	if n := count(parentOf(true, true), 1000); n != wishesPerSecond {
		t.Errorf("%d wishes of a second were granted", n)
	}
	now = now.Add(time.Second)
	if n := count(parentOf(true, true), 3); n != 3 {
		t.Errorf("%d of the next second's three", n)
	}
	for name, n := range map[string]int{
		"a client that asks to be left out": count(parentOf(true, false), 10), "a trace that begins here": count(context.Background(), 10),
		"ours that is not recorded": count(parentOf(false, false), 10), "ours that is": 10 - count(parentOf(false, true), 10),
	} {
		if n != 0 {
			t.Errorf("%s: %d", name, n)
		}
	}
}

// The ratio is the root's, for clients' traces too, and a faulty setting is told of.
func TestRootSampler(t *testing.T) {
	for _, tt := range []struct{ name, argument, describes, warns string }{
		{"", "", "AlwaysOnSampler", ""},
		{"always_off", "", "AlwaysOffSampler", ""},
		{"parentbased_always_on", "", "AlwaysOnSampler", ""},
		{"parentbased_traceidratio", "0.25", "TraceIDRatioBased{0.25}", ""},
		{"traceidratio", "", "AlwaysOnSampler", ""},
		{"traceidratio", "CANARY", "AlwaysOnSampler", "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "2", "AlwaysOnSampler", "OTEL_TRACES_SAMPLER_ARG"},
		{"CANARY", "", "AlwaysOnSampler", "OTEL_TRACES_SAMPLER:"},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", tt.name)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", tt.argument)
		var log bytes.Buffer
		s := newSampler(slog.New(slog.NewTextHandler(&log, nil)), time.Now)
		if !strings.Contains(s.Description(), tt.describes) || !strings.Contains(log.String(), tt.warns) || (tt.warns == "") != (log.Len() == 0) || strings.Contains(log.String(), "CANARY") {
			t.Errorf("%s %s: %s, it logs %s", tt.name, tt.argument, s.Description(), log.String())
		}
	}
}
