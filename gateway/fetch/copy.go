package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
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

// place is the right to download. A download gives its place back while its reader is slow, so that other downloads can go on, and
// then waits for another place.
type place struct {
	fetcher *Fetcher
	ctx     context.Context // ends the wait for a place
	to      io.Writer
	held    bool
}

// enter waits for a place. It refuses where too many downloads are on their way. The place MUST be left, once.
func (f *Fetcher) enter(ctx context.Context, to io.Writer) (*place, error) {
	p := &place{fetcher: f, ctx: ctx, to: to}
	err := ErrBusy
	if f.inside.Add(1) <= f.bounds.inside {
		err = p.take()
	}
	if err != nil {
		p.leave()
		return nil, err
	}
	return p, nil
}

func (p *place) take() error {
	select {
	case p.fetcher.slots <- struct{}{}:
		p.held = true
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *place) leave() {
	if p.held {
		<-p.fetcher.slots
	}
	p.fetcher.inside.Add(-1)
}

// Write writes to the reader. It gives the place back if that takes longer than a moment.
func (p *place) Write(b []byte) (int, error) {
	stalls := time.AfterFunc(p.fetcher.bounds.moment, func() { <-p.fetcher.slots })
	n, err := p.to.Write(b)
	if stalls.Stop() {
		return n, err
	}
	p.held = false
	if err == nil {
		err = p.take()
	}
	return n, err
}
