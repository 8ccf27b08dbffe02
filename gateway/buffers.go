package gateway

import (
	"math/bits"
	"runtime"
	"sync"
	"time"
)

const (
	// smallBuffer is the largest buffer that is not counted: the runtime has such memory at hand.
	smallBuffer = 32 << 10
	// usualBuffer is as long as most bodies. Shorter ones get so much, and streams hold theirs until they end.
	usualBuffer = 2 << 10
	// keptFor is how long buffers are kept that no request needs.
	keptFor = 10 * time.Second
	// muchDropped is how many bytes are dropped before the collector is run for them. By itself it would let the heap grow to a
	// multiple of what is lent and kept first.
	muchDropped = 16 << 20
)

// buffers lends memory for large bodies, and keeps what comes back for the next ones. New memory for each body would be twice
// as much, because the collector finds the old one late, and filling it costs a page fault for every 4 KiB. Sizes are rounded
// up by an eighth at most. It is safe for concurrent use.
type buffers struct {
	most int64 // bytes lent and kept; above it none are kept. Two thirds of it may be kept

	mu      sync.Mutex
	total   int64 // bytes lent and kept
	idle    int64 // bytes kept
	dropped int64 // bytes dropped that the collector was not run for
	kept    map[int64]*shelf
	aged    time.Time
}

// shelf has the kept buffers of one size.
type shelf struct {
	buffers [][]byte
	least   int // how few it had since the last ageing: no request needed these
}

// newBuffers keeps buffers as long as they and the lent ones are three quarters of the budget for bodies: what was dropped and not
// collected yet comes on top.
func newBuffers(budget int64) *buffers {
	return &buffers{most: budget / 4 * 3, kept: make(map[int64]*shelf)}
}

// usual has the memory of usual bodies.
var usual = sync.Pool{New: func() any { return new([usualBuffer]byte) }}

// lend returns a buffer of at least size bytes, with any content. It MUST be given back only when nothing reads it any more.
func (b *buffers) lend(size int64) []byte {
	if size <= usualBuffer {
		return usual.Get().(*[usualBuffer]byte)[:]
	}
	if size <= smallBuffer {
		return make([]byte, size)
	}
	size = rounded(size)
	if buffer := b.again(size); buffer != nil {
		return buffer
	}
	b.collect()
	return make([]byte, size)
}

// again returns a kept buffer; nil: a new one is to be made.
func (b *buffers) again(size int64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.kept[size]; s != nil && len(s.buffers) > 0 {
		b.idle -= size
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
		if size == usualBuffer {
			usual.Put((*[usualBuffer]byte)(buffer))
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle += size
	if b.total > b.most || b.idle > b.most/3*2 {
		b.drop(size)
		return
	}
	if b.kept[size] == nil {
		b.kept[size] = new(shelf)
	}
	b.kept[size].buffers = append(b.kept[size].buffers, buffer)
}

// drop counts a buffer that is kept no longer. The lock is held.
func (b *buffers) drop(size int64) {
	b.idle -= size
	b.total -= size
	b.dropped += size
}

// collect runs the collector if much was dropped. The request that needs new memory waits for it, some milliseconds, because it
// would fill more memory meanwhile.
func (b *buffers) collect() {
	b.mu.Lock()
	much := b.dropped >= muchDropped
	if much {
		b.dropped = 0
	}
	b.mu.Unlock()
	if much {
		runtime.GC()
	}
}

// makeRoom drops kept buffers until what is left is within bounds.
func (b *buffers) makeRoom() {
	for size, s := range b.kept {
		for b.total > b.most && len(s.buffers) > 0 {
			s.take()
			b.drop(size)
		}
	}
}

// age drops the buffers that no request has needed for keptFor.
func (b *buffers) age(now time.Time) {
	b.dropOld(now)
	b.collect()
}

func (b *buffers) dropOld(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.aged) < keptFor {
		return
	}
	b.aged = now
	for size, s := range b.kept {
		for range s.least {
			s.take()
			b.drop(size)
		}
		if s.least = len(s.buffers); s.least == 0 {
			delete(b.kept, size)
		}
	}
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
