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

// stream is one stream while it is sent.
type stream struct {
	*Exchange
	sent  int           // events
	delay time.Duration // before each frame
	spent answer.Cost   // by the frames sent
	over  func()        // bills and ends the stream, once
}

// sendStream sends an answer frame by frame.
func (x *Exchange) sendStream(a answer.Answer) {
	s := &stream{Exchange: x, delay: cmp.Or(x.Fault.FrameDelay, x.FrameDelay)}
	s.over = sync.OnceFunc(func() {
		if partial(a, x.Fault) {
			x.Bill(a.Model, s.spent)
		}
		if a.Ended != nil {
			a.Ended()
		}
	})
	defer s.over()
	x.W.Header().Set("Content-Type", streamType)
	if !x.start(http.StatusOK) {
		return
	}
	if s.delay > 0 {
		flush(x.W) // a client sees the header before the first frame
	}
	for s.round(a) && x.Fault.Endless {
	}
}

// round sends every frame once, and reports whether the stream is intact.
func (s *stream) round(a answer.Answer) bool {
	f := s.Fault
	for frame := range a.Frames {
		if f.Endless && frame.Last {
			continue
		}
		if s.sent == f.After && !s.strike() || !pause(s.Ctx, s.delay) {
			return false
		}
		spoil(f, &frame.Reply, s.sent)
		if s.event("result", http.StatusOK, &frame.Reply) != nil {
			return false
		}
		s.spent = frame.Spent
	}
	// A stream shorter than After meets its fault at the end.
	return s.sent > f.After || s.strike()
}

// strike acts out the fault that is due after After frames, and reports whether the stream goes on.
func (s *stream) strike() bool {
	f := s.Fault
	if f.Stall == "body" {
		flush(s.W)
		if s.Stalls.Wait(s.Ctx) != nil {
			return false
		}
	}
	if f.Error == nil && f.Cut == "" {
		return true
	}
	s.over() // before the client can notice
	if f.Error != nil {
		s.error(f.Error.Refusal())
	} else {
		flush(s.W)
		cutOff(s.W, f.Cut)
	}
	return false
}

func (s *stream) error(r *answer.Refusal) {
	_ = s.event("error", r.Status, r.Body(s.RequestID)) // a client that has left needs no error
}

// event writes one event in the service's form: LF endings, no space after a colon, ids from 1.
func (s *stream) event(name string, status int, data any) error {
	s.sent++
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "id:%d\nevent:%s\n:HTTP_STATUS/%d\ndata:", s.sent, name, status)
	answer.Encode(&buf, data) // ends in a newline
	buf.WriteByte('\n')
	piece := buf.Len()
	if s.Fault.WriteBytes > 0 {
		piece = s.Fault.WriteBytes
	}
	for buf.Len() > 0 {
		if _, err := s.W.Write(buf.Next(piece)); err != nil {
			return err
		}
		flush(s.W)
	}
	return nil
}
