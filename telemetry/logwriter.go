package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"time"
)

// lineWriter is the goroutine of a Log. Only it encodes Records and writes to the output.
type lineWriter struct {
	log      *Log
	line     *recordLine
	handler  slog.Handler // writes into buffer
	buffer   bytes.Buffer
	lines    uint64 // of Records and events in buffer
	reported uint64 // lost lines that the log already mentions
	torn     bool   // the output ends in the middle of a line
}

func newLineWriter(l *Log) *lineWriter {
	w := &lineWriter{log: l, line: new(recordLine)}
	w.handler = l.config.handler(&w.buffer, nil)
	return w
}

// run writes lines until the Log is closed and none waits.
func (w *lineWriter) run() {
	defer close(w.log.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case e := <-w.log.queue:
			w.admitLosses()
			w.encode(&e)
		case <-w.log.closing:
			w.admitLosses()
			w.drain()
			return
		}
		timer.Reset(linger)
		select {
		case <-timer.C:
		case <-w.log.closing:
		}
		w.drain()
	}
}

// drain writes everything that waits.
func (w *lineWriter) drain() {
	for {
		select {
		case e := <-w.log.queue:
			w.encode(&e)
		default:
			w.flush()
			return
		}
		if w.buffer.Len() >= batchBytes {
			w.flush()
		}
	}
}

func (w *lineWriter) encode(e *entry) {
	w.lines++
	if e.event != nil {
		w.buffer.Write(e.event)
		return
	}
	if e.record.Time.IsZero() {
		e.record.Time = w.log.config.Now() // slog would leave a zero time out
	}
	if w.log.config.Text {
		w.handle(w.line.record(&e.record))
		return
	}
	w.buffer.Write(appendLine(w.buffer.AvailableBuffer(), &e.record))
}

// admitLosses writes a line that says how many lines are missing before it.
func (w *lineWriter) admitLosses() {
	dropped := w.log.Dropped()
	if dropped == w.reported {
		return
	}
	record := slog.NewRecord(w.log.config.Now().UTC(), slog.LevelWarn, "log lines dropped", 0)
	record.AddAttrs(slog.Uint64("lines", dropped-w.reported))
	w.reported = dropped
	w.handle(record)
}

// handle cannot fail, since the handler writes to memory.
func (w *lineWriter) handle(record slog.Record) { _ = w.handler.Handle(context.Background(), record) }

// flush writes the buffer. What the output does not take is lost and counted: another attempt would delay the lines after it.
func (w *lineWriter) flush() {
	if w.torn && w.buffer.Len() > 0 {
		_, err := w.log.config.Writer.Write([]byte{'\n'})
		w.torn = err != nil
	}
	n, err := w.log.config.Writer.Write(w.buffer.Bytes())
	if err != nil {
		written, rest := w.buffer.Bytes()[:n], w.buffer.Bytes()[n:]
		w.torn = w.torn || n > 0 && written[n-1] != '\n'
		w.log.dropped.Add(min(w.lines, uint64(bytes.Count(rest, []byte{'\n'}))))
	}
	w.lines = 0
	w.buffer.Reset()
}
