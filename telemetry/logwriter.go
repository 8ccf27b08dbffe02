package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"
)

// lineWriter is the goroutine of a Log, the only one that writes to the output.
type lineWriter struct {
	log        *Log
	own        bytes.Buffer // for the Log's own lines
	unreported uint64       // lost lines that the log does not mention yet
	torn       bool         // the output ends in the middle of a line
}

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

// drain writes the waiting lines, and a line about each gap. It returns memory for the next call.
func (w *lineWriter) drain(memory []byte) []byte {
	text, lost := w.log.waiting.take(memory)
	w.reportGap()
	failed := w.write(text)
	w.log.dropped.Add(failed)
	if w.unreported += failed + lost; lost > 0 {
		w.reportGap()
	}
	return text
}

// reportGap writes a line with the number of lines that are missing before it. If the write fails, a later call reports them.
func (w *lineWriter) reportGap() {
	if w.unreported == 0 {
		return
	}
	record := slog.NewRecord(w.log.config.Now(), slog.LevelWarn, "log lines dropped", 0)
	record.AddAttrs(slog.Uint64("lines", w.unreported))
	w.own.Reset()
	_ = w.log.config.handler(&w.own).Handle(context.Background(), record) // writing to memory does not fail
	if w.write(w.own.Bytes()) == 0 {
		w.unreported = 0
	}
}

// write writes whole lines in batches, and returns how many the output did not accept. They are lost: a retry would delay the lines
// after them.
func (w *lineWriter) write(text []byte) (lost uint64) {
	for len(text) > 0 {
		part := text[:whole(text)]
		text = text[len(part):]
		n, err := w.writePart(part)
		if err != nil {
			w.log.fault.Store(&err)
			lost += uint64(bytes.Count(part[n:], []byte{'\n'}))
		}
	}
	return lost
}

// writePart writes a batch, and first ends a torn line.
func (w *lineWriter) writePart(part []byte) (n int, err error) {
	if w.torn {
		if _, err = w.log.config.Writer.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		w.torn = false
	}
	n, err = w.log.config.Writer.Write(part)
	w.torn = err != nil && n > 0 && part[n-1] != '\n'
	return n, err
}

// whole returns the length of the whole lines that fit into one write.
func whole(text []byte) int {
	if len(text) <= batchBytes {
		return len(text)
	}
	if end := bytes.LastIndexByte(text[:batchBytes], '\n'); end >= 0 {
		return end + 1
	}
	return bytes.IndexByte(text, '\n') + 1
}

// waitingLines are encoded lines that wait for the goroutine of a Log. It is safe for concurrent use.
type waitingLines struct {
	some chan struct{} // signals that lines wait; buffers one

	mu     sync.Mutex
	text   []byte
	lines  int
	lost   uint64 // lines that did not fit, since the last take
	closed bool
}

// add copies a line, which includes its line end; false: it is lost.
func (w *waitingLines) add(line []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.lines >= maxLines || len(w.text) >= maxBytes {
		w.lost++
		return false
	}
	if w.lines++; w.lines == 1 {
		select {
		case w.some <- struct{}{}:
		default: // the goroutine has not seen the last signal yet
		}
	}
	w.text = append(w.text, line...)
	return true
}

// take returns the waiting lines, and how many were lost after them. It reuses the memory of the last ones.
func (w *waitingLines) take(last []byte) (text []byte, lost uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, lost = w.text, w.lost
	w.text, w.lines, w.lost = last[:0], 0, 0
	return text, lost
}

// close makes add refuse further lines; false: it was closed before.
func (w *waitingLines) close() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.closed
	w.closed = true
	return !was
}

func (w *waitingLines) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}
