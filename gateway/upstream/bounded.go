package upstream

import (
	"errors"
	"io"
)

// longestAnswer bounds an answer that is not a stream, in bytes. It is passed on as it arrives; the bound ends endless answers.
const longestAnswer = 256 << 20

var errEndless = errors.New("the service's answer is over the bound")

// Bounded ends an endless answer with an [*Error], so that the client sees a cut and not a whole answer.
type Bounded struct {
	io.ReadCloser
	read int64
}

func (b *Bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > longestAnswer {
		return 0, &Error{Lost, errEndless}
	}
	return n, err
}
