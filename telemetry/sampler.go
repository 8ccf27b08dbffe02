package telemetry

import (
	"crypto/rand"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// wishesPerSecond is how many traces a second clients may have recorded that ask for it, beyond those that are recorded
// anyway.
const wishesPerSecond = 10

// sampler decides which traces are recorded. For traces that begin here the root decides. For one that a client brought,
// the client's word counts so far: it may ask to be left out, and it may ask to be recorded, but not without bound, or
// one client could fill the collector. Its trace id decides nothing, because the client chose it.
type sampler struct {
	root sdktrace.Sampler
	now  func() time.Time

	mu     sync.Mutex
	second int64
	wishes int
}

func newSampler(log *slog.Logger, now func() time.Time) *sampler {
	return &sampler{root: rootSampler(log), now: now}
}

// ShouldSample implements the SDK's interface.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	switch {
	case !parent.IsValid():
		return s.root.ShouldSample(p)
	case !parent.IsRemote(): // ours: a trace is recorded whole or not at all
		return decided(parent.IsSampled())
	case !parent.IsSampled():
		return decided(false)
	}
	own := p
	_, _ = rand.Read(own.TraceID[:]) // it never fails
	if s.root.ShouldSample(own).Decision == sdktrace.RecordAndSample {
		return decided(true)
	}
	return decided(s.grant())
}

// grant gives a client its wish while the second has some left.
func (s *sampler) grant() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := s.now().Unix(); second != s.second {
		s.second, s.wishes = second, 0
	}
	s.wishes++
	return s.wishes <= wishesPerSecond
}

// Description implements the SDK's interface.
func (s *sampler) Description() string { return "sluice(" + s.root.Description() + ")" }

func decided(sampled bool) sdktrace.SamplingResult {
	if sampled {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

// rootSampler reads OTEL_TRACES_SAMPLER. The parent-based ones differ from the others in what a parent decides, which is
// the sampler's own here. A faulty value is told of and is the default, as the specification has it.
func rootSampler(log *slog.Logger) sdktrace.Sampler {
	name, argument := os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return sdktrace.AlwaysSample()
	case "always_off":
		return sdktrace.NeverSample()
	case "traceidratio":
		ratio, err := strconv.ParseFloat(argument, 64)
		if err == nil && ratio >= 0 && ratio <= 1 {
			return sdktrace.TraceIDRatioBased(ratio)
		}
		if argument != "" {
			log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER_ARG: allowed: a ratio from 0 to 1; every trace is recorded"))
		}
		return sdktrace.AlwaysSample()
	}
	log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER: allowed: always_on, always_off, traceidratio, and these with parentbased_ before them; every trace is recorded"))
	return sdktrace.AlwaysSample()
}
