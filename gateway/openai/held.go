package openai

import "iter"

// heldFrames keeps copies of frames in one buffer.
type heldFrames struct {
	bytes []byte
	ends  []int
}

func (h *heldFrames) add(frame []byte) {
	h.bytes = append(h.bytes, frame...)
	h.ends = append(h.ends, len(h.bytes))
}

func (h *heldFrames) count() int  { return len(h.ends) }
func (h *heldFrames) empty() bool { return len(h.ends) == 0 }
func (h *heldFrames) clear()      { h.bytes, h.ends = h.bytes[:0], h.ends[:0] }

// all yields the frames in their order.
func (h *heldFrames) all() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for _, end := range h.ends {
			if !yield(h.bytes[start:end]) {
				return
			}
			start = end
		}
	}
}
