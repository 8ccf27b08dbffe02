package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"time"
)

// lineWriter is the goroutine of a Log. Only it writes to the output.
type lineWriter struct {
	log    *Log
	own    bytes.Buffer // for the Log's own lines
	failed uint64       // lines that the output did not take, and that the log does not mention yet
	torn   bool         // the output ends in the middle of a line
}

func newLineWriter(l *Log) *lineWriter { return &lineWriter{log: l} }

// run writes lines until the Log is closed and none waits.
func (w *lineWriter) run() {
	defer close(w.log.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var memory []byte
	for open := true; open; {
		select {
		case <-w.log.waiting.some:
			timer.Reset(linger)
			select {
			case <-timer.C:
			case <-w.log.closing:
			}
		case <-w.log.closing:
			open = false
		}
		memory = w.drain(memory)
	}
}

// drain writes what waits, and says how many lines are missing where. It returns memory for the next time.
func (w *lineWriter) drain(memory []byte) []byte {
	text, lost := w.log.waiting.take(memory)
	failed := w.failed
	w.failed = 0
	w.admit(failed)
	w.write(text)
	w.admit(lost)
	return text
}

// admit writes a line that says how many lines are missing before it.
func (w *lineWriter) admit(lost uint64) {
	if lost == 0 {
		return
	}
	record := slog.NewRecord(w.log.config.Now().UTC(), slog.LevelWarn, "log lines dropped", 0)
	record.AddAttrs(slog.Uint64("lines", lost))
	w.own.Reset()
	_ = w.log.config.handler(&w.own, nil).Handle(context.Background(), record) // memory takes all
	w.write(w.own.Bytes())
}

// write writes whole lines, some at a time. What the output does not take is lost and counted: another attempt would delay the lines
// after it.
func (w *lineWriter) write(text []byte) {
	for len(text) > 0 {
		part := text[:whole(text)]
		text = text[len(part):]
		if w.torn {
			_, err := w.log.config.Writer.Write([]byte{'\n'})
			w.torn = err != nil
		}
		n, err := w.log.config.Writer.Write(part)
		if err == nil {
			continue
		}
		w.torn = w.torn || n > 0 && part[n-1] != '\n'
		lost := uint64(bytes.Count(part[n:], []byte{'\n'}))
		w.failed += lost
		w.log.dropped.Add(lost)
	}
}

// whole is the length of the lines that are written at once.
func whole(text []byte) int {
	if len(text) <= batchBytes {
		return len(text)
	}
	if end := bytes.LastIndexByte(text[:batchBytes], '\n'); end >= 0 {
		return end + 1
	}
	return bytes.IndexByte(text, '\n') + 1
}
