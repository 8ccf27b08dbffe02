package gateway

import "io"

// bounded ends an endless answer with an error, so that the client sees a cut and not a whole answer.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refuse(refuseAnswer)
	}
	return n, err
}
