package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// maxLines and maxBytes bound the waiting lines. At 10,000 requests a second they bridge 0.4 s of a stalled output.
	maxLines = 4096
	maxBytes = 4 << 20
	// linger is how long the writing goroutine waits for more lines after the first one. Without it every request would have to
	// wake the goroutine, which costs more than the line itself. At 1,000 requests a second one wake-up serves twenty.
	linger = 20 * time.Millisecond
	// batchBytes bounds one write, and so the loss if it fails.
	batchBytes = 64 << 10
)

// LogConfig configures a Log. Writer and Now are required.
type LogConfig struct {
	Writer io.Writer        // each write is one or more whole lines
	Level  slog.Leveler     // lines below it are not written; nil is INFO
	Text   bool             // key=value lines instead of JSON
	Now    func() time.Time // the clock, for the Log's own lines
}

// Log is the process's log: a line per Record, and the lines of [Log.Logger], in the order of the calls. No caller waits for
// the output: lines are queued in memory for one goroutine, and a line that finds the queue full is dropped and counted.
// Its methods may be called from any goroutine, also after Close.
type Log struct {
	config  LogConfig
	waiting waitingLines
	dropped atomic.Uint64
	fault   atomic.Pointer[error] // the last failure of a write; nil: none failed
	closing chan struct{}
	done    chan struct{}
	own     slog.Handler // writes to waiting
	logger  *slog.Logger
	tee     atomic.Pointer[slog.Handler] // also gets every line; nil: none
}

// NewLog returns a Log and starts its goroutine, which [Log.Close] ends.
func NewLog(config LogConfig) *Log {
	if config.Level == nil {
		config.Level = slog.LevelInfo
	}
	l := &Log{config: config, closing: make(chan struct{}), done: make(chan struct{})}
	l.waiting.some = make(chan struct{}, 1)
	l.own = config.handler(eventWriter{l})
	l.logger = slog.New(&teeHandler{log: l, own: l.own})
	go (&lineWriter{log: l}).run()
	return l
}

// Tee also passes every line to a handler, from now on. The handler must not wait.
func (l *Log) Tee(handler slog.Handler) {
	if handler != nil {
		l.tee.Store(&handler)
	}
}

// Write queues a Record's line, which [Record.AppendLine] made; a Log in text ignores it and makes its own. Write does not wait or
// allocate, and keeps neither argument.
func (l *Log) Write(record *Record, line []byte) {
	if record.level() < l.config.Level.Level() {
		return
	}
	if other := l.tee.Load(); other != nil { // not in the writing goroutine, so that a blocked output does not delay the collector
		_ = (*other).Handle(record.Span.parent(), record.line()) // the handler counts its own losses
	}
	if l.config.Text {
		_ = l.own.Handle(context.Background(), record.line()) // writing to memory does not fail
		return
	}
	l.count(l.waiting.add(line))
}

// count counts a line that was not taken.
func (l *Log) count(taken bool) {
	if !taken {
		l.fault.Store(nil) // an earlier one does not explain this loss
		l.dropped.Add(1)
	}
}

// Logger returns the logger for everything but requests. Its lines are encoded at once, so that values are not read later, and
// queued like those of Records.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Dropped returns how many lines were lost: the queue was full, the output failed, or the Log was closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Fault returns why the output did not take the last lines that were lost; nil: it is too slow, or no line was lost.
func (l *Log) Fault() error {
	if fault := l.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// Close writes the queue and ends the goroutine. It waits until the context ends at the latest: a blocked output must not keep the
// process from stopping. Later lines are dropped. A second call waits again.
func (l *Log) Close(ctx context.Context) error {
	if l.waiting.close() {
		close(l.closing)
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush the log, %d lines waiting: %w", l.waiting.number(), ctx.Err())
	}
}

// eventWriter queues the lines of a slog handler, one per call.
type eventWriter struct{ log *Log }

func (w eventWriter) Write(line []byte) (int, error) {
	w.log.count(w.log.waiting.add(line))
	return len(line), nil
}

// teeHandler writes an event to the log and hands it to the Tee's handler. Attributes and groups of a logger apply to both.
type teeHandler struct {
	log  *Log
	own  slog.Handler
	bind []func(slog.Handler) slog.Handler // the attributes and groups, for the Tee's handler, which may be set later
}

func (d *teeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return d.own.Enabled(ctx, level)
}

func (d *teeHandler) Handle(ctx context.Context, r slog.Record) error {
	if other := d.log.tee.Load(); other != nil {
		h := *other
		for _, bind := range d.bind {
			h = bind(h)
		}
		_ = h.Handle(ctx, r) // the handler counts its own losses
	}
	return d.own.Handle(ctx, r)
}

func (d *teeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return d.bound(d.own.WithAttrs(attrs), func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

func (d *teeHandler) WithGroup(name string) slog.Handler {
	return d.bound(d.own.WithGroup(name), func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (d *teeHandler) bound(own slog.Handler, bind func(slog.Handler) slog.Handler) slog.Handler {
	return &teeHandler{log: d.log, own: own, bind: append(d.bind[:len(d.bind):len(d.bind)], bind)}
}

// handler returns a handler that writes lines with times in UTC.
func (c LogConfig) handler(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: c.Level, ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey && len(groups) == 0 {
			attr.Value = slog.TimeValue(attr.Value.Time().UTC())
		}
		return attr
	}}
	if c.Text {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}
