package telemetry

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// Errors logs the errors of repeated work. Equal errors in a row are one line.
type Errors struct {
	logger *slog.Logger
	work   string // the message of the lines
	last   string // the last error; empty: the last round succeeded
}

// NewErrors returns Errors that log with the work's name as the message.
func NewErrors(logger *slog.Logger, work string) *Errors { return &Errors{logger: logger, work: work} }

// Log logs an error unless it equals the last one; nil means that the work succeeded.
func (e *Errors) Log(err error) {
	if err == nil {
		e.last = ""
		return
	}
	if text := err.Error(); text != e.last {
		e.logger.Error(e.work, slog.String("error", text))
		e.last = text
	}
}

// Fence does work that no request waits for, and reports whether it ended without a panic. A panic is logged with its stack: nothing else
// recovers it, and it would end the process.
func Fence(logger *slog.Logger, work string, do func()) (whole bool) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic", slog.String("work", work), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	do()
	return true
}

// panicPause is how long work that panicked rests.
const panicPause = time.Second

// Keep does work that lasts until ctx ends, and begins it again if it panics.
func Keep(ctx context.Context, logger *slog.Logger, work string, do func(ctx context.Context)) {
	for !Fence(logger, work, func() { do(ctx) }) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(panicPause):
		}
	}
}

// quiet logs the SDK's messages without their values: the SDK quotes what it cannot parse, which may be a collector's credential.
type quiet struct{ log *slog.Logger }

// Init implements [logr.LogSink], like the methods below.
func (quiet) Init(logr.RuntimeInfo) {}

// Enabled leaves out messages for the SDK's developers.
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

// exportErrors logs errors of exporters, at most one line a minute: while a collector is unreachable, every batch fails.
type exportErrors struct {
	log  *slog.Logger
	line *rate.Limiter
	more atomic.Int64 // errors since the last line
}

func newExportErrors(log *slog.Logger) *exportErrors {
	return &exportErrors{log: log, line: rate.NewLimiter(rate.Every(time.Minute), 1)}
}

// Handle implements otel.ErrorHandler. It shortens the text, which may quote a collector's answer of any length.
func (e *exportErrors) Handle(err error) {
	if !e.line.Allow() {
		e.more.Add(1)
		return
	}
	e.log.Warn("telemetry", slog.String("error", shorten(err.Error())), slog.Int64("more", e.more.Swap(0)))
}
