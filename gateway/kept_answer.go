package gateway

// mostKept is the length of the longest answer that is kept for repeats, in bytes.
const mostKept = 1 << 20

// keptAnswer keeps what is written of an answer, and drops it all once it is too long.
type keptAnswer struct {
	bytes []byte
	over  bool // it was too long
}

func (k *keptAnswer) keep(p []byte) {
	if k.over = k.over || len(k.bytes)+len(p) > mostKept; k.over {
		k.bytes = nil
		return
	}
	k.bytes = append(k.bytes, p...)
}
