package gateway

import "testing"

// A client holds memory only for what it sent: each buffer is at most 16 times what has arrived.
func TestBuffersGrowWithTheBody(t *testing.T) {
	for _, declared := range []int64{1, 64 << 10, 1 << 20, 13 << 20, 60_000_000, 1 << 30} {
		u := upload{declared: declared}
		for size := u.nextSize(0); size < declared; {
			next := u.nextSize(size)
			if next <= size || next > 16*size || next > declared {
				t.Fatalf("of %d bytes %d arrived, the buffer is %d", declared, size, next)
			}
			size = next
		}
	}
}
