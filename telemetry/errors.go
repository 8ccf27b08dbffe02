package telemetry

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// Errors logs the errors of work that is repeated: the same one again and again is one line.
type Errors struct {
	logger *slog.Logger
	of     string
	last   string // the last error; empty: the last round had none
}

// NewErrors logs errors of that work.
func NewErrors(logger *slog.Logger, of string) *Errors { return &Errors{logger: logger, of: of} }

// Log logs an error unless it is the last one; nil: the work succeeded.
func (e *Errors) Log(err error) {
	if err == nil {
		e.last = ""
		return
	}
	if text := err.Error(); text != e.last {
		e.logger.Error(e.of, slog.String("error", text))
		e.last = text
	}
}

// quiet logs the library's messages without their values: the library quotes what it cannot read, and that may be a
// collector's credential.
type quiet struct{ log *slog.Logger }

// Init implements the library's interface, like the methods below.
func (quiet) Init(logr.RuntimeInfo) {}

// Enabled leaves out messages for the library's developers.
func (quiet) Enabled(level int) bool { return level <= 1 }

// Info logs only the text.
func (q quiet) Info(_ int, text string, _ ...any) {
	q.log.Debug("telemetry", slog.String("library", text))
}

// Error logs only the text.
func (q quiet) Error(_ error, text string, _ ...any) {
	q.log.Warn("telemetry", slog.String("library", text))
}

// WithValues drops them.
func (q quiet) WithValues(...any) logr.LogSink { return q }

// WithName drops it.
func (q quiet) WithName(string) logr.LogSink { return q }

// complaints logs errors of exporters, at most one line a minute: a collector that is away fails every batch.
type complaints struct {
	log  *slog.Logger
	line *rate.Limiter
	more atomic.Int64 // errors since the last line
}

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log: log, line: rate.NewLimiter(rate.Every(time.Minute), 1)}
}

// Handle implements otel.ErrorHandler. The text is cut: it may quote a collector's answer of any length.
func (c *complaints) Handle(err error) {
	if !c.line.Allow() {
		c.more.Add(1)
		return
	}
	c.log.Warn("telemetry", slog.String("error", shorten(err.Error())), slog.Int64("more", c.more.Swap(0)))
}
