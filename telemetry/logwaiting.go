package telemetry

import (
	"context"
	"log/slog"
	"sync"
)

// waitingLines are encoded lines that wait for the goroutine of a Log. It is safe for concurrent use.
type waitingLines struct {
	some   chan struct{} // has room for one: lines wait
	asText slog.Handler  // writes into text; used while mu is held

	mu     sync.Mutex
	text   []byte
	lines  int
	lost   uint64 // that found too many, since the last take
	closed bool
	record recordLine // memory for asText
}

// textEnd appends to the waiting text. Only asText uses it.
type textEnd waitingLines

func (w *textEnd) Write(line []byte) (int, error) {
	w.text = append(w.text, line...)
	return len(line), nil
}

// add takes a line, with its line end, and copies it; false: it is lost.
func (w *waitingLines) add(line []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.admit() {
		return false
	}
	w.text = append(w.text, line...)
	return true
}

// addRecord takes a Record as a line of text; false: it is lost.
func (w *waitingLines) addRecord(r *Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.admit() {
		return false
	}
	_ = w.asText.Handle(context.Background(), w.record.record(r)) // memory takes all
	return true
}

// admit reports whether one more line may wait, and counts it. The lock is held.
func (w *waitingLines) admit() bool {
	if w.closed {
		return false
	}
	if w.lines >= mostLines || len(w.text) >= mostBytes {
		w.lost++
		return false
	}
	if w.lines++; w.lines == 1 {
		select {
		case w.some <- struct{}{}:
		default: // the goroutine has not seen the last time yet
		}
	}
	return true
}

// take hands over the lines that wait, and how many were lost after them. The memory of the last ones is used for the next.
func (w *waitingLines) take(last []byte) (text []byte, lost uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, lost = w.text, w.lost
	w.text, w.lines, w.lost = last[:0], 0, 0
	return text, lost
}

// close lets no further line wait; false: it was closed before.
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
