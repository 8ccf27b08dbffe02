package telemetry

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// wishesPerSecond is how many traces a second clients may have recorded that ask for it, beyond those that are recorded
// anyway.
const wishesPerSecond = 10

// envSampler is the SDK's own variable that says what is recorded.
const envSampler = "OTEL_TRACES_SAMPLER"

// sampler decides which requests are recorded, before a span of them is made. For one whose trace a client brought, the client's word counts so far: it may ask to be left
// out, and it may ask to be recorded, but not without bound, or one client could fill the collector. Its trace id decides
// nothing, because the client chose it.
type sampler struct {
	ratio float64 // of the traces that begin here
	deaf  bool    // nothing is recorded, whoever wishes it
	now   func() time.Time

	mu     sync.Mutex
	second int64
	wishes int // of this second
}

func newSampler(log *slog.Logger, now func() time.Time) *sampler {
	return &sampler{ratio: readRatio(log), deaf: os.Getenv(envSampler) == "always_off", now: now}
}

// records decides about a request. client is the trace that it joins; the zero value: none.
func (s *sampler) records(client trace.SpanContext) bool {
	switch {
	case client.IsValid() && !client.IsSampled():
		return false
	case s.ratio == 1 || s.ratio > 0 && rand.Float64() < s.ratio:
		return true
	}
	return client.IsValid() && !s.deaf && s.grant()
}

// grant counts the wishes that a second has room for.
func (s *sampler) grant() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := s.now().Unix(); second != s.second {
		s.second, s.wishes = second, 0
	}
	s.wishes++
	return s.wishes <= wishesPerSecond
}

// readRatio reads OTEL_TRACES_SAMPLER. The parent-based ones differ from the others in what a parent decides, which is
// the sampler's own here. A faulty value is told of and is the default, as the specification has it.
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
