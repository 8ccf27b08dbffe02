package telemetry

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// latestGenAI selects the newest conventions for generative models instead of version 1.41. They differ here in one point: the
// span of a fetch_response names what it fetched as gen_ai.response.id.
const latestGenAI = "gen_ai_latest_experimental"

// Traces makes spans. [Open] makes it. A nil Traces makes none. Its methods may be called from any goroutine and do not wait.
type Traces struct {
	config  Config
	queue   *otlp.Queue
	sampler *sampler
	unended atomic.Int64
	host    string // of the service
	port    int64
	latest  bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, queue *otlp.Queue) *Traces {
	return &Traces{
		config: config, queue: queue, host: config.upstreamHost(), port: config.upstreamPort(), latest: optsIn(latestGenAI),
		sampler: newSampler(config.Logger, time.Now),
	}
}

// optsIn reads the standard's list of conventions to use instead of the default ones.
func optsIn(to string) bool {
	for word := range strings.SplitSeq(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(word) == to {
			return true
		}
	}
	return false
}

// Unended returns how many spans were begun and have not ended. It is for tests.
func (t *Traces) Unended() int64 { return t.unended.Load() }

// newSpan begins a span of a trace, or of a new one if the id is zero. It has only ids: all else is written at its end.
func (t *Traces) newSpan(of trace.TraceID) Span {
	s := Span{trace: of}
	for !s.trace.IsValid() {
		binary.NativeEndian.PutUint64(s.trace[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(s.trace[8:], rand.Uint64())
	}
	for !s.id.IsValid() {
		binary.NativeEndian.PutUint64(s.id[:], rand.Uint64())
	}
	t.unended.Add(1)
	return s
}

// write begins to write a span that ends; nil: the queue is full.
func (t *Traces) write(h *otlp.Head) *otlp.Span {
	t.unended.Add(-1)
	return t.queue.Write(h)
}
