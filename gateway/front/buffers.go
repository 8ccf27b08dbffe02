package front

import (
	"sync"

	"sluice/gateway/openai"
)

// writers are those of requests that have ended. Each has the memory of a stream.
var writers = sync.Pool{New: func() any { return &Writer{memory: new(openai.Stream)} }}

// buffers are those of an answer to a chat, in the service's form and in OpenAI's. An answer that comes whole has them to its end,
// a stream while a piece of it is written: between its pieces it needs none.
type buffers struct{ native, out []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// mostPooled is the largest buffer that is kept for other chats, in bytes.
const mostPooled = 64 << 10

func (w *Writer) takeBuffers() {
	w.buffers = pool.Get().(*buffers)
	w.native, w.out = w.buffers.native[:0], w.buffers.out[:0]
}

// giveBuffers gives the buffers back, if the answer has any. What was in them is lost.
func (w *Writer) giveBuffers() {
	if b := w.buffers; b != nil && cap(w.native) <= mostPooled && cap(w.out) <= mostPooled {
		b.native, b.out = w.native, w.out
		pool.Put(b)
	}
	w.buffers, w.native, w.out = nil, nil, nil
}

// Release gives the Writer's memory to another request. Nothing may refer to it any more.
func (w *Writer) Release() {
	w.giveBuffers()
	w.memory.Clear()
	*w = Writer{memory: w.memory}
	writers.Put(w)
}
