package otlp

import (
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// LogTo has the library log there what it says of its own accord. It has to be called before anything else of the library.
func LogTo(log *slog.Logger) { otel.SetLogger(logr.New(quiet{log})) }

// ComplainTo has exporters log there what they complain of.
func ComplainTo(log *slog.Logger) { otel.SetErrorHandler(newComplaints(log)) }

// quiet takes what the library says of its own accord. Its values are left out: it quotes what it could not read, and that may
// be a collector's credential.
type quiet struct{ log *slog.Logger }

// Init implements the library's interface, like the methods below.
func (quiet) Init(logr.RuntimeInfo) {}

// Enabled leaves out what is for the library's own developers.
func (quiet) Enabled(level int) bool { return level <= 1 }

// Info logs the text alone.
func (q quiet) Info(_ int, text string, _ ...any) {
	q.log.Debug("telemetry", slog.String("library", text))
}

// Error logs the text alone.
func (q quiet) Error(_ error, text string, _ ...any) {
	q.log.Warn("telemetry", slog.String("library", text))
}

// WithValues drops them.
func (q quiet) WithValues(...any) logr.LogSink { return q }

// WithName drops it.
func (q quiet) WithName(string) logr.LogSink { return q }

// complaintsEvery is how often exporters are heard.
const complaintsEvery = time.Minute

// complaints logs what exporters complain of, one line a minute: a collector that is away fails every batch.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	more int
}

func newComplaints(log *slog.Logger) *complaints { return &complaints{log: log} }

// Handle implements otel.ErrorHandler. What a collector answered is cut short: it may be anything.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.last.IsZero() && now.Sub(c.last) < complaintsEvery {
		c.more++
		return
	}
	text := err.Error()
	c.log.Warn("telemetry", slog.String("error", Shorten(text, MaxValue)), slog.Int("more", c.more))
	c.last, c.more = now, 0
}
