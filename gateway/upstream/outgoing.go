package upstream

import (
	"errors"
	"io"
	"net/http"
	"slices"
)

var (
	errOtherHost = errors.New("the request is for another host than the service")
	errNoLength  = errors.New("the request's body has no length")
	errLength    = errors.New("the request's body has another length than announced")
)

// outgoing is the body of a request. It is closed once, when it is read no more.
type outgoing struct {
	io.ReadCloser
	length int64 // -1: unknown
	read   bool  // from
	closed bool
}

// bodyOf is a request's body; nil: it has none.
func bodyOf(out *http.Request) *outgoing {
	if out.Body == nil || out.Body == http.NoBody {
		return nil
	}
	length := out.ContentLength
	if length == 0 { // the zero value of a request with a body
		length = -1
	}
	return &outgoing{ReadCloser: out.Body, length: length}
}

// size is how long the body is, in bytes.
func (b *outgoing) size() int64 {
	if b == nil {
		return 0
	}
	return b.length
}

func (b *outgoing) close() {
	if b != nil && !b.closed {
		b.closed = true
		_ = b.Close()
	}
}

// again is the body for another attempt after the one that failed with why. If there is none, it returns that.
func (b *outgoing) again(out *http.Request, why error) (*outgoing, error) {
	if b == nil || !b.read {
		return b, nil
	}
	if out.GetBody == nil || errors.Is(why, errLength) {
		return b, why
	}
	fresh, err := out.GetBody()
	if err != nil {
		return b, why
	}
	b.close()
	return &outgoing{ReadCloser: fresh, length: b.length}, nil
}

// appendTo appends the whole body.
func (b *outgoing) appendTo(to []byte) ([]byte, error) {
	b.read = true
	at := len(to)
	to = slices.Grow(to, int(b.length))[:at+int(b.length)]
	if _, err := io.ReadFull(b, to[at:]); err != nil {
		return to[:at], errors.Join(errLength, err)
	}
	b.close()
	return to, nil
}

// writeTo writes the whole body, and closes it. A body in memory is not copied.
func (b *outgoing) writeTo(w io.Writer) error {
	b.read = true
	defer b.close()
	n, err := io.Copy(w, b.ReadCloser)
	if err == nil && n != b.length {
		err = errLength
	}
	return err
}
