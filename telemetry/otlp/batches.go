package otlp

import (
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// fullBatch is the size in bytes at which a batch is full, whatever its number of spans: collectors take 4 MiB at once.
	fullBatch = 1 << 20
	// maxWaiting is how many bytes of spans may wait.
	maxWaiting = 16 << 20
	// fieldSpans is the field of a ScopeSpans that has its spans.
	fieldSpans = 2
)

// batch is spans as they stand in a ScopeSpans.
type batch struct {
	spans []byte
	n     int
}

// batches gathers spans. Its methods may be called from any goroutine.
type batches struct {
	most int           // spans of a batch
	wake chan struct{} // gets a value when a batch is full

	mu      sync.Mutex
	filling batch
	full    []batch
	spare   [][]byte // buffers of batches that were sent
	bytes   int      // of all spans that wait or are being sent
	closed  bool
}

func newBatches(most int) *batches { return &batches{most: most, wake: make(chan struct{}, 1)} }

// add copies a span into the batch that is filling. It returns false if there is no room, or after close.
func (b *batches) add(span []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.bytes+len(span) > maxWaiting {
		return false
	}
	f := &b.filling
	before := len(f.spans)
	f.spans = protowire.AppendBytes(protowire.AppendTag(f.spans, fieldSpans, protowire.BytesType), span)
	f.n++
	b.bytes += len(f.spans) - before
	if f.n >= b.most || len(f.spans) >= fullBatch {
		b.cut()
	}
	return true
}

// cut makes the filling batch a full one. The caller holds the lock. The next batch gets a buffer of the same size.
func (b *batches) cut() {
	size := len(b.filling.spans)
	b.full, b.filling = append(b.full, b.filling), batch{}
	if last := len(b.spare) - 1; last >= 0 {
		b.filling.spans, b.spare = b.spare[last], b.spare[:last]
	} else {
		b.filling.spans = make([]byte, 0, size)
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// flush makes a batch of the gathered spans.
func (b *batches) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filling.n > 0 {
		b.cut()
	}
}

// next takes the oldest full batch. It has to be given back with done.
func (b *batches) next() (batch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.full) == 0 {
		return batch{}, false
	}
	oldest := b.full[0]
	b.full = slices.Delete(b.full, 0, 1)
	return oldest, true
}

// done frees the room of a batch.
func (b *batches) done(sent batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= len(sent.spans)
	if cap(sent.spans) <= 2*fullBatch && len(b.spare) < 2 {
		b.spare = append(b.spare, sent.spans[:0])
	}
}

// close lets nothing more in. It returns false if it was closed before.
func (b *batches) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.closed
	b.closed = true
	return first
}
