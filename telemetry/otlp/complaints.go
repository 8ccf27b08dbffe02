package otlp

import (
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// LogTo makes the library log to a logger. It must be called before anything else of the library.
func LogTo(log *slog.Logger) { otel.SetLogger(logr.New(quiet{log})) }

// ComplainTo makes exporters log their errors to a logger, at most one line a minute.
func ComplainTo(log *slog.Logger) { otel.SetErrorHandler(newComplaints(log)) }

// quiet logs the library's messages without their values: the library quotes what it cannot read, and that may be a
// collector's credential.
type quiet struct{ log *slog.Logger }

// Init implements the library's interface, like the methods below.
func (quiet) Init(logr.RuntimeInfo) {}

// Enabled leaves out messages for the library's developers.
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

// complaintsEvery is the least time between two lines.
const complaintsEvery = time.Minute

// complaints logs errors of exporters, one line a minute: a collector that is away fails every batch.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	more int // errors since the last line
}

func newComplaints(log *slog.Logger) *complaints { return &complaints{log: log} }

// Handle implements otel.ErrorHandler. The text is cut: it may quote a collector's answer of any length.
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

// MaxValue is the length in bytes to which texts from clients and from the service are cut.
const MaxValue = 256

// Shorten cuts a text to at most limit bytes, at the end of a character. A cut text is a copy, so that the long one can be
// freed.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// Valid replaces what is not UTF-8: a collector refuses a whole batch for one invalid text.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
