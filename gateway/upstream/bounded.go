package upstream

import "io"

// longestAnswer bounds an answer that is not a stream, in bytes. It is passed on as it arrives; the bound ends endless answers.
const longestAnswer = 256 << 20

// Bounded ends an endless answer with the error Over, so that the client sees a cut and not a whole answer.
type Bounded struct {
	io.ReadCloser
	Over error
	read int64
}

func (b *Bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > longestAnswer {
		return 0, b.Over
	}
	return n, err
}
