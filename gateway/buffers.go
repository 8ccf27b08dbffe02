package gateway

import (
	"math/bits"
	"runtime"
	"sync"
	"time"
)

const (
	// smallBuffer is the largest buffer that is made for one request: the runtime has such memory at hand.
	smallBuffer = 32 << 10
	// keptFor is how long buffers are kept that no request needs.
	keptFor = 10 * time.Second
	// muchDropped is how many bytes are collected at once when they are dropped, and not whenever the collector runs next: it
	// would let the heap grow to a multiple of them first.
	muchDropped = 16 << 20
)

// buffers lends memory for large bodies, and keeps what comes back for the next ones. New memory for each body would be twice
// as much, because the collector finds the old one late, and filling it costs a page fault for every 4 KiB. Sizes are rounded
// up by an eighth at most; the part of a buffer that no body filled is not in memory. It is safe for concurrent use.
type buffers struct {
	most int64 // bytes lent and kept; above it none are kept

	mu    sync.Mutex
	total int64 // bytes lent and kept
	kept  map[int64]*shelf
	aged  time.Time
}

// shelf has the kept buffers of one size.
type shelf struct {
	buffers [][]byte
	least   int // how few it had since the last ageing: no request needed these
}

func newBuffers(most int64) *buffers { return &buffers{most: most, kept: make(map[int64]*shelf)} }

// lend returns a buffer of at least size bytes, with any content. It MUST be given back only when nothing reads it any more.
func (b *buffers) lend(size int64) []byte {
	if size <= smallBuffer {
		return make([]byte, size)
	}
	size = rounded(size)
	if buffer := b.again(size); buffer != nil {
		return buffer
	}
	return make([]byte, size)
}

// again returns a kept buffer; nil: a new one is to be made.
func (b *buffers) again(size int64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.kept[size]; s != nil && len(s.buffers) > 0 {
		return s.take()
	}
	b.total += size
	b.makeRoom()
	return nil
}

// giveBack takes a buffer that lend returned; nil is none.
func (b *buffers) giveBack(buffer []byte) {
	size := int64(len(buffer))
	if size <= smallBuffer {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total > b.most {
		b.total -= size
		return
	}
	if b.kept[size] == nil {
		b.kept[size] = new(shelf)
	}
	b.kept[size].buffers = append(b.kept[size].buffers, buffer)
}

// makeRoom drops kept buffers until what is left is within bounds.
func (b *buffers) makeRoom() {
	for size, s := range b.kept {
		for b.total > b.most && len(s.buffers) > 0 {
			s.take()
			b.total -= size
		}
	}
}

// age drops the buffers that no request has needed for keptFor.
func (b *buffers) age(now time.Time) {
	if b.drop(now) >= muchDropped {
		runtime.GC()
	}
}

func (b *buffers) drop(now time.Time) (dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.aged) < keptFor {
		return 0
	}
	b.aged = now
	for size, s := range b.kept {
		for range s.least {
			s.take()
			dropped += size
		}
		if s.least = len(s.buffers); s.least == 0 {
			delete(b.kept, size)
		}
	}
	b.total -= dropped
	return dropped
}

func (s *shelf) take() []byte {
	last := len(s.buffers) - 1
	buffer := s.buffers[last]
	s.buffers[last] = nil
	s.buffers = s.buffers[:last]
	s.least = min(s.least, last)
	return buffer
}

// rounded is the next of the eight sizes between two powers of two.
func rounded(size int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(size-1))-4, 0)
	return (size + step - 1) / step * step
}
