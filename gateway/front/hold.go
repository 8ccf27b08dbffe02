package front

// Memory is a budget for answers that are held.
type Memory interface {
	// Take takes n bytes, or reports false. The bytes are given back by whoever made the budget.
	Take(n int64) bool
}

const (
	// mostHeld is the length of the longest answer that is held without a look at the budget, in bytes. Nearly all have a few KB.
	mostHeld = 4 << 20
	// heldStep is how many bytes are taken at least.
	heldStep = 1 << 20
)

// hold keeps a piece of an answer that is no stream. Its translation will be as long again. What there is no memory for is dropped
// with all that was held, and read on: the end tells what the answer cost.
func (w *Writer) hold(p []byte) {
	length := int64(len(w.native) + len(p))
	if more := 2*length - w.taken; length > mostHeld && more > 0 && w.Memory != nil && !w.lost {
		more = max(more, heldStep)
		w.lost = !w.Memory.Take(more)
		w.taken += more
	}
	if w.lost {
		w.native = nil
		return
	}
	w.native = append(w.native, p...)
}

// Lost reports whether there was no memory for the answer. [Writer.TakeBack] makes room for an error in its place.
func (w *Writer) Lost() bool { return w.lost }
