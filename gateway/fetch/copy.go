package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// buffers are reused: a download allocates no picture.
var buffers = sync.Pool{New: func() any { return new([piece]byte) }}

// copy writes the answer's body in pieces. The first piece tells the type.
func (f *Fetcher) copy(w io.Writer, answer *http.Response) (contentType string, err error) {
	switch {
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%w but %d", ErrStatus, answer.StatusCode)
	case answer.ContentLength > f.bounds.largest:
		return "", ErrTooLarge
	}
	buf := buffers.Get().(*[piece]byte)
	defer buffers.Put(buf)
	var size int64
	for ended := false; !ended; {
		n, err := fill(answer.Body, buf[:])
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		ended = err != nil
		if contentType == "" {
			contentType = http.DetectContentType(buf[:n])
		}
		size += int64(n)
		switch {
		case !strings.HasPrefix(contentType, "image/"):
			return "", ErrNoImage
		case size > f.bounds.largest:
			return "", ErrTooLarge
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return "", err
		}
	}
	return contentType, nil
}

// fill reads until buf is full or the body ends. Unlike [io.ReadFull] it tells an end from a body that was cut.
func fill(body io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = body.Read(buf[n:])
		n += more
	}
	return n, err
}
