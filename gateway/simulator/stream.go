package simulator

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// streamType is the media type of every stream.
const streamType = "text/event-stream;charset=UTF-8"

// frameWriter writes events in the service's form: LF endings, no space after
// a colon, ids from 1.
type frameWriter struct {
	w     http.ResponseWriter
	sent  int
	piece int // write in pieces of this size; zero is whole frames
	buf   bytes.Buffer
}

func (o *frameWriter) event(name string, status int, data any) error {
	o.sent++
	o.buf.Reset()
	fmt.Fprintf(&o.buf, "id:%d\nevent:%s\n:HTTP_STATUS/%d\ndata:", o.sent, name, status)
	encode(&o.buf, data) // ends in a newline
	o.buf.WriteByte('\n')
	for o.buf.Len() > 0 {
		n := o.buf.Len()
		if o.piece > 0 {
			n = min(n, o.piece)
		}
		if _, err := o.w.Write(o.buf.Next(n)); err != nil {
			return err
		}
		flush(o.w)
	}
	return nil
}

func (o *frameWriter) error(r *refusal, requestID string) {
	_ = o.event("error", r.status, r.body(requestID)) // a client gone needs no error
}

// streaming is one stream while it is sent.
type streaming struct {
	*exchange
	out   frameWriter
	delay time.Duration
	spent cost   // by the last frame that went out
	over  func() // bills and ends the stream, once
}

// sendStream sends an answer frame by frame.
func (x *exchange) sendStream(a answer) {
	f := x.fault
	st := &streaming{
		exchange: x, out: frameWriter{w: x.w, piece: f.WriteBytes}, delay: cmp.Or(f.FrameDelay, x.frameDelay),
	}
	st.over = sync.OnceFunc(func() {
		if a.partial(f) {
			x.bill(a.model, st.spent)
		}
		if a.ended != nil {
			a.ended()
		}
	})
	defer st.over()
	x.w.Header().Set("Content-Type", streamType)
	if f.Gzip {
		z := newZipWriter(x.w)
		defer z.close()
		st.out.w = z
	}
	if !x.start(http.StatusOK) {
		return
	}
	if st.delay > 0 {
		flush(x.w) // a client sees the header before the first frame
	}
	for st.round(a) && f.Endless {
	}
}

// round sends every frame once and reports whether the stream is intact.
func (st *streaming) round(a answer) bool {
	f := st.fault
	for fr := range a.frames {
		if f.Endless && fr.last {
			continue
		}
		if st.out.sent == f.After && !st.strike() {
			return false
		}
		if !pause(st.ctx, st.delay) {
			return false
		}
		spoil(f, &fr.reply, st.out.sent)
		if st.out.event("result", http.StatusOK, &fr.reply) != nil {
			return false
		}
		st.spent = fr.spent
	}
	// A stream shorter than After meets its fault at the end.
	return st.out.sent > f.After || st.strike()
}

// strike does what the fault has for this place and reports whether the
// stream goes on.
func (st *streaming) strike() bool {
	f := st.fault
	if f.Stall == "body" {
		flush(st.out.w)
		if st.stalls.wait(st.ctx) != nil {
			return false
		}
	}
	if f.Error == nil && f.Cut == "" {
		return true
	}
	st.over() // before the client can notice
	if f.Error != nil {
		st.out.error(f.Error.refusal(), st.requestID)
	} else {
		flush(st.out.w)
		cutOff(st.out.w, f.Cut)
	}
	return false
}
