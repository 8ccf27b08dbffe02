package upstream

import (
	"testing"

	"pgregory.net/rapid"
)

// In whatever pieces TLS records arrive, it is known whether the last one is complete.
func TestRecordsAreFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		ends := map[int]bool{0: true}
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			size := rapid.SampledFrom([]int{0, 1, 255, 256, 1000}).Draw(t, "size")
			stream = append(stream, 23, 3, 3, byte(size>>8), byte(size))
			stream = append(stream, make([]byte, size)...)
			ends[len(stream)] = true
		}
		w := &wire{records: new(records)}
		for at := 0; at < len(stream); {
			n := rapid.IntRange(1, min(len(stream)-at, 600)).Draw(t, "piece")
			w.records.follow(stream[at : at+n])
			if at += n; w.partial() == ends[at] {
				t.Fatalf("after %d bytes: partial is %t, and the records end at %v", at, w.partial(), ends)
			}
		}
	})
}
