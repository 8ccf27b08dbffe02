package front

import "sync"

// buffers are those of one chat that is no stream: its answer in the service's form, and in OpenAI's.
type buffers struct{ native, out []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// mostPooled is the largest buffer that is kept for other chats, in bytes.
const mostPooled = 64 << 10

func takeBuffers() *buffers { return pool.Get().(*buffers) }

// giveBuffers gives the buffers back, if the answer has any. What was in them is lost.
func (w *Writer) giveBuffers() {
	if b := w.buffers; b != nil && cap(w.native) <= mostPooled && cap(w.out) <= mostPooled {
		b.native, b.out = w.native, w.out
		pool.Put(b)
	}
	w.buffers, w.native, w.out = nil, nil, nil
}
