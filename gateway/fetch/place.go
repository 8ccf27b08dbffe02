package fetch

import (
	"context"
	"io"
	"time"
)

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
