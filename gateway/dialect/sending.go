package dialect

import (
	"net/http"
	"strconv"
	"sync"

	"sluice/gateway/conversation"
)

// sending is what leaves for the client.
type sending struct {
	under   http.ResponseWriter
	control http.ResponseController
	id      string // the request's
	status  int    // the status that was sent; 0: none
	bytes   int64  // of the body, sent so far
	flushed int64  // the bytes at the last flush
}

func (s *sending) body(p []byte) error {
	n, err := s.under.Write(p)
	s.bytes += int64(n)
	return err
}

// flush sends what was written since the last time, if anything was.
func (s *sending) flush() error {
	if s.status == 0 || s.flushed == s.bytes && s.bytes > 0 {
		return nil
	}
	s.flushed = s.bytes
	return s.control.Flush()
}

// patience is the longest Retry-After, in seconds, after which a library may repeat a request by itself. Some sleep for as long as it says.
const patience = 60

func isLong(retryAfter string) bool {
	seconds, err := strconv.Atoi(retryAfter)
	return err == nil && seconds > patience
}

// Memory is a budget for answers that are held.
type Memory interface {
	// Take takes n bytes, or reports false. The budget's owner gives the bytes back.
	Take(n int64) bool
}

const (
	// mostFree is the length of the longest answer that is held without asking the budget, in bytes. Nearly all have a few KB.
	mostFree = 4 << 20
	// heldStep is how many bytes are taken at least.
	heldStep = 1 << 20
	// mostPooled is the largest buffer that is kept for other chats, in bytes.
	mostPooled = 64 << 10
)

// writers pools the Writers of requests that have ended. Each has the memory of a stream.
var writers = sync.Pool{New: func() any { return &Writer{memory: new(conversation.Stream)} }}

// buffers hold an answer to a chat, in the service's form and in OpenAI's. A whole answer keeps them to its end, a stream only
// while a piece of it is written.
type buffers struct{ native, out []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// holding is the held part of an answer.
type holding struct {
	native []byte   // the whole answer, unless it is streamed
	out    []byte   // its translation, or that of a piece of a stream
	lent   *buffers // nil: native is the Writer's own, and out is empty
	taken  int64    // of the budget, in bytes
	lost   bool     // there was no memory for the answer
}

func (h *holding) borrow() {
	h.lent = pool.Get().(*buffers)
	h.native, h.out = h.lent.native[:0], h.lent.out[:0]
}

// giveBack gives the buffers back, if the answer has any. Their content is lost.
func (h *holding) giveBack() {
	if b := h.lent; b != nil && cap(h.native) <= mostPooled && cap(h.out) <= mostPooled {
		b.native, b.out = h.native, h.out
		pool.Put(b)
	}
	h.lent, h.native, h.out = nil, nil, nil
}

// add keeps a piece of an answer that is no stream. Its translation will take as much again. Without memory, all that was held
// is dropped, and the rest is read only for the usage at its end. A nil budget always has memory.
func (h *holding) add(p []byte, budget Memory) {
	length := int64(len(h.native) + len(p))
	if more := 2*length - h.taken; length > mostFree && more > 0 && budget != nil && !h.lost {
		more = max(more, heldStep)
		h.lost = !budget.Take(more)
		h.taken += more
	}
	if h.lost {
		h.native = nil
		return
	}
	h.native = append(h.native, p...)
}
