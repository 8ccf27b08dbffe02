package simulator

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
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
	o.buf.WriteString("id:")
	o.buf.WriteString(strconv.Itoa(o.sent))
	o.buf.WriteString("\nevent:" + name + "\n:HTTP_STATUS/")
	o.buf.WriteString(strconv.Itoa(status))
	o.buf.WriteString("\ndata:")
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

func (o *frameWriter) result(r *reply) error {
	return o.event("result", http.StatusOK, r)
}

func (o *frameWriter) error(r *refusal, requestID string) {
	_ = o.event("error", r.status, r.body(requestID)) // a client gone needs no error
}

// streaming is one stream while it is sent.
type streaming struct {
	s     *Simulator
	c     *call
	out   frameWriter
	delay time.Duration
	spent cost   // by the last frame that went out
	over  func() // bills and ends the stream, once
}

// sendStream sends an answer frame by frame.
func (s *Simulator) sendStream(w http.ResponseWriter, c *call, a answer) {
	f := c.fault
	st := &streaming{s: s, c: c, out: frameWriter{w: w, piece: f.WriteBytes}, delay: cmp.Or(f.FrameDelay, s.cfg.FrameDelay)}
	st.over = sync.OnceFunc(func() {
		if a.partial(f) {
			s.bill.add(a.model, st.spent)
		}
		if a.ended != nil {
			a.ended()
		}
	})
	defer st.over()
	w.Header().Set("Content-Type", streamType)
	if f.Gzip {
		z := newZipWriter(w)
		defer z.close()
		st.out.w = z
	}
	if !s.start(w, c, http.StatusOK) {
		return
	}
	if st.delay > 0 {
		flush(w) // a client sees the header before the first drop
	}
	for st.round(a) && f.Endless {
	}
}

// round sends every frame once and reports whether the stream is intact.
func (st *streaming) round(a answer) bool {
	f := st.c.fault
	for fr := range a.frames {
		if f.Endless && fr.last {
			continue
		}
		if st.out.sent == f.After && !st.strike() {
			return false
		}
		if !pause(st.c.r.Context(), st.delay) {
			return false
		}
		f.spoil(&fr.reply, st.out.sent)
		if st.out.result(&fr.reply) != nil {
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
	f := st.c.fault
	if f.Stall == "body" {
		flush(st.out.w)
		if st.s.stalls.wait(st.c.r.Context()) != nil {
			return false
		}
	}
	if f.Error != nil || f.Cut != "" {
		st.over() // before the client can notice
	}
	if f.Error != nil {
		st.out.error(f.Error.refusal(), st.c.id)
		return false
	}
	if f.Cut != "" {
		flush(st.out.w)
		cutOff(st.out.w, f.Cut)
		return false
	}
	return true
}
