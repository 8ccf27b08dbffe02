package gateway

import (
	"context"
	"io"
	"net/http"
	"time"

	"sluice/gateway/wire"
)

// noteUnheld is the stage that notes a first attempt at pictures that is refused for want of memory, so that its repetition makes its
// own task: it would get that of an equal call otherwise, or pass for a call whose first attempt is late. The body is read for that,
// and not kept.
func (g *Gateway) noteUnheld(kind frontRequest) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			err := s.unheld
			if err == nil {
				err = next(w, r, s)
			}
			if !isOutOfMemory(err) || !g.throttle.notes(r, s) {
				return err
			}
			select {
			case g.throttle.unheld <- struct{}{}:
				defer func() { <-g.throttle.unheld }()
			default:
				if g.throttle.reached != nil {
					g.throttle.reached()
				}
				return err
			}
			body := newUnheldBody(w, r, s, g.inspection.buffers)
			digest, lost := kind.digest(r, body)
			s.waited += body.now().Sub(body.began)
			if lost == nil {
				s.repeats = newRepetition(r, s, digest)
				g.throttle.noted.Add(s.Key)
				g.idempotency.noteRefused(context.WithoutCancel(r.Context()), s)
			}
			return err
		}
	}
}

// unheldBody is a body for which there is no memory: what had arrived, which is given back as soon as it is read, and then the rest.
type unheldBody struct {
	upload
	have []byte
	size int
}

func newUnheldBody(w *reply, r *http.Request, s *requestState, buffers *wire.Buffers) *unheldBody {
	u := upload{clientTerms: w.terms, reply: w, state: s, from: r.Body, buffers: buffers, began: w.terms.now()}
	return &unheldBody{upload: u, have: s.body, size: len(s.body)}
}

// Read implements [io.Reader].
func (b *unheldBody) Read(p []byte) (int, error) {
	s := b.state
	if len(b.have) > 0 {
		n := copy(p, b.have)
		b.have = b.have[n:]
		return n, nil
	}
	b.buffers.GiveBack(s.lent)
	s.lent, s.body = nil, nil
	s.memory.release()
	if s.bodyEnded {
		return 0, io.EOF
	}
	n, err := b.readSome(p, b.size)
	b.size += n
	s.BytesIn = int64(b.size)
	switch {
	case int64(b.size) > b.maxBody:
		return n, refuseTooLarge(b.maxBody)
	case err == io.EOF:
		s.bodyEnded = true
		_ = b.reply.control.SetReadDeadline(time.Time{}) // as for every body that was read
	}
	return n, err
}
