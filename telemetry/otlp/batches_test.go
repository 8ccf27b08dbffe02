package otlp

import "testing"

// A span that ends while a batch is sent still waits for the delay: it is not sent at once, alone.
func TestBatchesWhileOneIsSent(t *testing.T) {
	b := newBatches(4)
	b.add([]byte("a"))
	if _, ok := b.next(); ok {
		t.Error("a batch that is not full was sent before its time")
	}
	b.flush() // its time has come
	if sent, ok := b.next(); !ok || sent.n != 1 {
		t.Errorf("%d spans are sent", sent.n)
	}
	b.add([]byte("b"))
	if _, ok := b.next(); ok {
		t.Error("a span that came during the sending follows at once")
	}
	b.flush()
	b.flush()
	if len(b.full) != 1 {
		t.Errorf("%d batches wait, of one", len(b.full))
	}
}
