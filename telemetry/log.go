package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

const (
	// queueLength is how many lines may wait. At 10,000 requests a second it rides out 0.4 s of a stalled output, in
	// under 4 MiB.
	queueLength = 4096
	// linger is how long the writing goroutine lets lines gather after the first one. A goroutine that waited at the
	// queue for every line would have to be woken by every request, which costs the request more than the line does.
	linger = 5 * time.Millisecond
	// batchBytes is how much is encoded before it is written.
	batchBytes = 64 << 10
)

// LogConfig says where a Log writes and what. Writer and Now are required.
type LogConfig struct {
	Writer io.Writer        // each write is one or more whole lines
	Level  slog.Leveler     // lines below it are not written; nil is INFO
	Text   bool             // key=value lines instead of JSON
	Now    func() time.Time // the clock, for Records without a time and for the Log's own lines
}

// Log is the one stream of lines of the process: a line per Record, and whatever is logged through [Log.Logger], in
// the order of the calls. Nothing that uses it ever waits for the output: lines go through a bounded queue to one
// goroutine, and a line that finds the queue full is dropped and counted. Its methods may be called from anywhere at
// any time.
type Log struct {
	config  LogConfig
	queue   chan entry
	dropped atomic.Uint64
	closed  atomic.Bool
	closing chan struct{}
	done    chan struct{}
	logger  *slog.Logger
	also    atomic.Pointer[slog.Handler] // of a collector; nil: none
}

// entry is a waiting line: an event that its caller has encoded, or else a Record.
type entry struct {
	event  []byte
	record Record
}

// NewLog returns a Log and starts its goroutine, which [Log.Close] ends.
func NewLog(config LogConfig) *Log {
	if config.Level == nil {
		config.Level = slog.LevelInfo
	}
	l := &Log{
		config:  config,
		queue:   make(chan entry, queueLength),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	l.logger = slog.New(&doubled{log: l, own: config.handler(eventWriter{l}, inUTC)})
	go newLineWriter(l).run()
	return l
}

// Also hands every line to another handler, too, from now on. It must not wait.
func (l *Log) Also(handler slog.Handler) {
	if handler != nil {
		l.also.Store(&handler)
	}
}

// Write queues the line of one Record. It does not wait and does not allocate, except to shorten an overlong value.
// The Record's strings must not be parts of a request's body, which they would keep in memory.
func (l *Log) Write(record Record) {
	if record.level() < l.config.Level.Level() {
		return
	}
	record.tidy()
	if other := l.also.Load(); other != nil {
		l.handOver(*other, record)
	}
	l.put(&entry{record: record})
}

// handOver hands a Record to the collector's handler, here and not where lines are written: an output that blocks must not
// hold up the collector, too.
func (l *Log) handOver(other slog.Handler, record Record) {
	if record.Time.IsZero() {
		record.Time = l.config.Now()
	}
	ctx := trace.ContextWithSpanContext(context.Background(), record.Span.context())
	_ = other.Handle(ctx, new(recordLine).of(&record)) // what a collector misses it counts itself
}

// Logger returns the logger for everything that is not a request. Its lines are encoded at once, so that nothing they
// mention is read later, and then queued like those of Records.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Dropped returns how many lines were lost: they found the queue full, the output failed, or the Log was closed.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Close writes what waits and ends the goroutine, for as long as the context lasts: an output that nobody reads must
// not keep the process from stopping. Lines that come later are dropped. Calling it again waits again.
func (l *Log) Close(ctx context.Context) error {
	if !l.closed.Swap(true) {
		close(l.closing)
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush the log, %d lines waiting: %w", len(l.queue), ctx.Err())
	}
}

func (l *Log) put(e *entry) {
	if l.closed.Load() {
		l.dropped.Add(1)
		return
	}
	select {
	case l.queue <- *e:
	default:
		l.dropped.Add(1)
	}
}

// eventWriter queues what a slog handler writes, one line per call.
type eventWriter struct{ log *Log }

func (w eventWriter) Write(line []byte) (int, error) {
	w.log.put(&entry{event: bytes.Clone(line)})
	return len(line), nil
}

// doubled writes an event to the log and hands it to the other handler. What is bound to a logger is bound to both.
type doubled struct {
	log  *Log
	own  slog.Handler
	bind []func(slog.Handler) slog.Handler // what was bound, for the other handler, which may come later
}

func (d *doubled) Enabled(ctx context.Context, level slog.Level) bool {
	return d.own.Enabled(ctx, level)
}

func (d *doubled) Handle(ctx context.Context, r slog.Record) error {
	if other := d.log.also.Load(); other != nil {
		h := *other
		for _, bind := range d.bind {
			h = bind(h)
		}
		_ = h.Handle(ctx, r) // what a collector misses it counts itself
	}
	return d.own.Handle(ctx, r)
}

func (d *doubled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return d.bound(d.own.WithAttrs(attrs), func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

func (d *doubled) WithGroup(name string) slog.Handler {
	return d.bound(d.own.WithGroup(name), func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (d *doubled) bound(own slog.Handler, bind func(slog.Handler) slog.Handler) slog.Handler {
	return &doubled{log: d.log, own: own, bind: append(d.bind[:len(d.bind):len(d.bind)], bind)}
}

func (c LogConfig) handler(w io.Writer, replace func([]string, slog.Attr) slog.Attr) slog.Handler {
	options := &slog.HandlerOptions{Level: c.Level, ReplaceAttr: replace}
	if c.Text {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// inUTC writes the time of events like that of Records.
func inUTC(groups []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey && len(groups) == 0 {
		attr.Value = slog.TimeValue(attr.Value.Time().UTC())
	}
	return attr
}
