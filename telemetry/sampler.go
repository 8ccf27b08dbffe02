package telemetry

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// flaggedPerSecond bounds the traces a second that are recorded only because clients set the sampled flag.
const flaggedPerSecond = 10

// envSampler is the SDK's variable that selects what is recorded.
const envSampler = "OTEL_TRACES_SAMPLER"

// sampler decides which requests are recorded, before a span is made. A client's sampled flag is advisory: off, the request is
// not recorded; on, it is recorded within a bound, or one client could fill the collector. The trace id decides nothing,
// because the client chose it.
type sampler struct {
	ratio float64 // of all requests, 0 to 1
	off   bool    // nothing is recorded, whatever clients ask for
	now   func() time.Time
	flags *rate.Limiter // of clients
}

func newSampler(log *slog.Logger, now func() time.Time) *sampler {
	return &sampler{ratio: readRatio(log), off: os.Getenv(envSampler) == "always_off", now: now, flags: rate.NewLimiter(flaggedPerSecond, flaggedPerSecond)}
}

// ShouldSample implements the SDK's interface. A span inside a recorded one of this process is recorded.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	inside := parent.IsValid() && !parent.IsRemote()
	if inside && parent.IsSampled() || !inside && s.records(parent) {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

// Description implements the SDK's interface.
func (s *sampler) Description() string { return "sluice" }

// records decides about a request. client is the span that it joins; invalid: none.
func (s *sampler) records(client trace.SpanContext) bool {
	switch {
	case client.IsValid() && !client.IsSampled():
		return false
	case s.ratio == 1 || s.ratio > 0 && rand.Float64() < s.ratio:
		return true
	}
	return client.IsValid() && !s.off && s.flags.AllowN(s.now(), 1)
}

// readRatio reads OTEL_TRACES_SAMPLER. The parent-based samplers equal the others here, because sampler has its own rule for
// parents. An invalid value is logged and the default used, as the specification says.
func readRatio(log *slog.Logger) float64 {
	name, argument := os.Getenv(envSampler), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return 1
	case "always_off":
		return 0
	case "traceidratio":
		ratio, err := strconv.ParseFloat(argument, 64)
		if err == nil && ratio >= 0 && ratio <= 1 {
			return ratio
		}
		if argument != "" {
			log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER_ARG: allowed: a ratio from 0 to 1; every trace is recorded"))
		}
		return 1
	}
	log.Warn("telemetry", slog.String("warning", "OTEL_TRACES_SAMPLER: allowed: always_on, always_off, traceidratio, and these with parentbased_ before them; every trace is recorded"))
	return 1
}
