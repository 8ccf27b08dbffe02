package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/gateway/simulator/answer"
)

// streamType is the media type of every stream.
const streamType = "text/event-stream;charset=UTF-8"

// frameWriter writes events in the service's form: LF endings, no space after a colon, ids from 1.
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
	answer.Encode(&o.buf, data) // ends in a newline
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

func (o *frameWriter) error(r *answer.Refusal, requestID string) {
	_ = o.event("error", r.Status, r.Body(requestID)) // a client gone needs no error
}

// streaming is one stream while it is sent.
type streaming struct {
	*Exchange
	out   frameWriter
	delay time.Duration
	spent answer.Cost // by the last frame that went out
	over  func()      // bills and ends the stream, once
}

// sendStream sends an answer frame by frame.
func (x *Exchange) sendStream(a answer.Answer) {
	f := x.Fault
	st := &streaming{
		Exchange: x, out: frameWriter{w: x.W, piece: f.WriteBytes}, delay: cmp.Or(f.FrameDelay, x.FrameDelay),
	}
	st.over = sync.OnceFunc(func() {
		if partial(a, f) {
			x.Bill(a.Model, st.spent)
		}
		if a.Ended != nil {
			a.Ended()
		}
	})
	defer st.over()
	x.W.Header().Set("Content-Type", streamType)
	if f.Gzip {
		z := newZipWriter(x.W)
		defer z.close()
		st.out.w = z
	}
	if !x.start(http.StatusOK) {
		return
	}
	if st.delay > 0 {
		flush(x.W) // a client sees the header before the first frame
	}
	for st.round(a) && f.Endless {
	}
}

// round sends every frame once and reports whether the stream is intact.
func (st *streaming) round(a answer.Answer) bool {
	f := st.Fault
	for fr := range a.Frames {
		if f.Endless && fr.Last {
			continue
		}
		if st.out.sent == f.After && !st.strike() {
			return false
		}
		if !pause(st.Ctx, st.delay) {
			return false
		}
		spoil(f, &fr.Reply, st.out.sent)
		if st.out.event("result", http.StatusOK, &fr.Reply) != nil {
			return false
		}
		st.spent = fr.Spent
	}
	// A stream shorter than After meets its fault at the end.
	return st.out.sent > f.After || st.strike()
}

// strike does what the fault has for this place and reports whether the stream goes on.
func (st *streaming) strike() bool {
	f := st.Fault
	if f.Stall == "body" {
		flush(st.out.w)
		if st.Stalls.Wait(st.Ctx) != nil {
			return false
		}
	}
	if f.Error == nil && f.Cut == "" {
		return true
	}
	st.over() // before the client can notice
	if f.Error != nil {
		st.out.error(f.Error.Refusal(), st.RequestID)
	} else {
		flush(st.out.w)
		cutOff(st.out.w, f.Cut)
	}
	return false
}
