package wire

import (
	"math/bits"
	"net/http/httputil"
	"runtime"
	"sync"
	"time"
)

const (
	// smallBuffer is the largest buffer that is not counted: the runtime has such memory at hand.
	smallBuffer = 32 << 10
	// usualBuffer is as long as most bodies. Shorter ones get one of this size, and streams hold theirs until they end.
	usualBuffer = 2 << 10
	// keptFor is how long buffers are kept that no request needs.
	keptFor = 10 * time.Second
	// muchDropped is how many bytes are dropped before the garbage collector is run for them. By itself it would first let the heap
	// grow to a multiple of what is lent and kept.
	muchDropped = 16 << 20
)

// Buffers lends memory for large bodies, and keeps returned buffers for the next ones. New memory for each body would be twice as
// much, because the collector finds the old one late, and filling it costs a page fault for every 4 KiB. Sizes are rounded up by
// an eighth at most. It is safe for concurrent use.
type Buffers struct {
	most int64 // bytes lent and kept; above it none are kept. Two thirds of it may be kept

	mu       sync.Mutex
	total    int64 // bytes lent and kept
	idle     int64 // bytes kept
	dropped  int64 // bytes dropped since the collector was last run for them
	collects bool  // the collector runs
	kept     map[int64]*sizeClass
	aged     time.Time
}

// sizeClass has the kept buffers of one size.
type sizeClass struct {
	buffers [][]byte
	least   int // the fewest buffers since the last ageing: no request needed these
}

// NewBuffers keeps buffers while kept and lent ones are within three quarters of the budget for bodies. Memory that was dropped and is
// not collected yet comes in addition.
func NewBuffers(budget int64) *Buffers {
	return &Buffers{most: budget / 4 * 3, kept: make(map[int64]*sizeClass)}
}

// usual has the memory of usual bodies.
var usual = sync.Pool{New: func() any { return new([usualBuffer]byte) }}

// Lend returns a buffer of at least size bytes, with any content. It MUST be given back only when nothing reads it any more.
func (b *Buffers) Lend(size int64) []byte {
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

// again returns a kept buffer; nil: a new one must be made.
func (b *Buffers) again(size int64) []byte {
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

// GiveBack takes a buffer that [Buffers.Lend] returned; nil is ignored.
func (b *Buffers) GiveBack(buffer []byte) {
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
		b.kept[size] = new(sizeClass)
	}
	b.kept[size].buffers = append(b.kept[size].buffers, buffer)
}

// Lent is how many bytes of large buffers are lent.
func (b *Buffers) Lent() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total - b.idle
}

// drop counts a buffer that is kept no longer. The lock is held.
func (b *Buffers) drop(size int64) {
	b.idle -= size
	b.total -= size
	b.dropped += size
}

// collect begins a run of the collector if much was dropped. No request waits for it.
func (b *Buffers) collect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped < muchDropped || b.collects {
		return
	}
	b.dropped, b.collects = 0, true
	go func() {
		runtime.GC()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.collects = false
	}()
}

// makeRoom drops kept buffers until the rest is within bounds.
func (b *Buffers) makeRoom() {
	for size, s := range b.kept {
		for b.total > b.most && len(s.buffers) > 0 {
			s.take()
			b.drop(size)
		}
	}
}

// Age drops the buffers that no request has needed for keptFor.
func (b *Buffers) Age(now time.Time) {
	b.dropOld(now)
	b.collect()
}

func (b *Buffers) dropOld(now time.Time) {
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

func (s *sizeClass) take() []byte {
	last := len(s.buffers) - 1
	buffer := s.buffers[last]
	s.buffers[last] = nil
	s.buffers = s.buffers[:last]
	s.least = min(s.least, last)
	return buffer
}

// rounded rounds up to the next of eight sizes between two powers of two.
func rounded(size int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(size-1))-4, 0)
	return (size + step - 1) / step * step
}

const (
	copyBuffer = 32 << 10
	// streamBuffer is smaller, because a stream has its buffer while it waits. A full one leaves in one write: net/http's
	// buffer of 4 KiB has room for it and the frame of its chunk.
	streamBuffer = 4<<10 - 16
)

// copyBuffers is an [httputil.BufferPool]. A buffer is lent to one request at a time, and the proxy gives it back only after its last
// write. The pool keeps arrays, which cost no allocation to give back.
type copyBuffers struct{ pool sync.Pool }

// NewCopyBuffers lends a proxy the buffers with which it copies answers.
func NewCopyBuffers() httputil.BufferPool {
	return &copyBuffers{sync.Pool{New: func() any { return new([copyBuffer]byte) }}}
}

func (p *copyBuffers) Get() []byte  { return p.pool.Get().(*[copyBuffer]byte)[:] }
func (p *copyBuffers) Put(b []byte) { p.pool.Put((*[copyBuffer]byte)(b)) }

// streamBuffers is copyBuffers with the smaller buffers of streams.
type streamBuffers struct{ pool sync.Pool }

// NewStreamBuffers lends a proxy the buffers with which it copies streams.
func NewStreamBuffers() httputil.BufferPool {
	return &streamBuffers{sync.Pool{New: func() any { return new([streamBuffer]byte) }}}
}

func (p *streamBuffers) Get() []byte  { return p.pool.Get().(*[streamBuffer]byte)[:] }
func (p *streamBuffers) Put(b []byte) { p.pool.Put((*[streamBuffer]byte)(b)) }

// mostKept is the length of the longest answer that is kept for repeats, in bytes.
const mostKept = 1 << 20

// Kept keeps what is written of an answer, and drops all of it once it is too long.
type Kept struct {
	Bytes []byte
	Over  bool // it was too long
}

// Keep keeps the next piece.
func (k *Kept) Keep(p []byte) {
	if k.Over = k.Over || len(k.Bytes)+len(p) > mostKept; k.Over {
		k.Bytes = nil
		return
	}
	k.Bytes = append(k.Bytes, p...)
}
