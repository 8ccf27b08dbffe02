package gateway

import (
	"bytes"
	"testing"
)

// The kept part of an answer is bounded while it comes; an answer that is too long is not kept at all.
func TestNothingIsKeptOfTooMuch(t *testing.T) {
	var kept keptAnswer
	piece := bytes.Repeat([]byte("x"), 32<<10)
	for n := range 400 << 20 / len(piece) {
		kept.keep(piece)
		if fits := (n+1)*len(piece) <= mostKept; fits == kept.over || cap(kept.bytes) > 2*mostKept || !fits && kept.bytes != nil {
			t.Fatalf("%d bytes are kept of %d", cap(kept.bytes), (n+1)*len(piece))
		}
	}
}
