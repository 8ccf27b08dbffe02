package conversation

import (
	"bytes"
	"slices"
)

// Stream reads one stream of the service, and passes to a dialect what is new in it. Append passes on immediately everything that its input
// has; only a frame that could mean two things waits for the next one (see [frameMode]). A Stream serves one goroutine at a time
// and must not be copied.
type Stream struct {
	// Judge may change the error that ends a stream after its beginning, before the dialect writes it. inside is always true. Nil: the error
	// stays as it is.
	Judge func(r *Refusal, inside bool)

	dialect  Dialect
	usage    Usage // of the whole stream so far
	events   events
	answer   Answer // of the frame that is being read
	news     Delta  // of one of its choices
	logprobs []byte // room for those in news
	pattern  pattern
	mode     frameMode
	choices  []progress
	held     [][]byte // copies of the frames whose mode is not decided
	started  bool     // the dialect has got something
	ended    bool     // no more output
	failed   bool     // with an error

	heldBytes int // of the copies
}

// Begin starts a stream in the memory of another. The dialect MUST have begun.
func (s *Stream) Begin(in Dialect) {
	s.Clear()
	s.dialect = in
}

// Clear resets the stream. It keeps the memory that every stream needs.
func (s *Stream) Clear() {
	clear(s.choices)
	clear(s.answer.Choices)
	clear(s.news.Calls)
	*s = Stream{
		choices: s.choices[:0], answer: Answer{Choices: s.answer.Choices[:0]},
		pattern: pattern{room: s.pattern.room[:0]}, news: Delta{Calls: s.news.Calls[:0]},
	}
}

// Append reads the next piece of the service's stream, which may be cut anywhere, and appends the client's events to dst.
//
// If the service fails before any content, Append returns a [*Refusal], to be answered as a plain HTTP error. If it fails
// later, Append appends the error as the last event. After either, the Stream makes no more output.
func (s *Stream) Append(dst, piece []byte) ([]byte, error) {
	var err error
	for s.events.take(piece); !s.ended; {
		fresh := s.events.fresh()
		if fresh {
			dst = s.passUsual(dst)
		}
		from := s.events.at
		if !s.events.next() {
			break
		}
		e := s.events.event()
		if dst, err = s.translate(dst, e); err != nil {
			return dst, err
		}
		if fresh && e.at >= 0 && s.mode.decided && !s.ended { // at the error of a stream, the answer was last read from a held frame
			s.pattern.learn(piece[from:s.events.at], e.at-from, &s.answer)
		}
	}
	if s.events.tooLarge && !s.ended {
		return s.fail(dst, Unreadable())
	}
	return dst, nil
}

// passUsual passes on the next events while they fit the pattern.
func (s *Stream) passUsual(dst []byte) []byte {
	for {
		text, usage, size := s.pattern.fits(s.events.rest())
		if size == 0 {
			return dst
		}
		s.events.at += size
		s.answer.usual(&s.pattern, text, usage)
		s.usage.Raise(usage)
		dst = s.pass(dst)
	}
}

// End appends the end of the stream. Call it only if the service's stream ended in order; if it was cut, call [Stream.Cut]. A stream
// in which a choice has no finish_reason broke off, although it ended in order: End appends an error. Its error is as of
// [Stream.Append].
func (s *Stream) End(dst []byte) ([]byte, error) {
	if s.ended {
		return dst, nil
	}
	if s.events.end() {
		var err error
		if dst, err = s.translate(dst, s.events.event()); err != nil || s.ended {
			return dst, err
		}
	}
	dst = s.release(dst)
	if !s.finished() {
		return s.fail(dst, s.unfinished())
	}
	return s.close(dst), nil
}

// Whole appends a whole stream for an answer that arrived in one piece, as if it were its only frame. The error is as of
// [Whole]; with it, nothing is appended.
func (s *Stream) Whole(dst, answer []byte) ([]byte, error) {
	dst, err := s.translate(dst, event{data: answer})
	switch {
	case err != nil:
		return dst, err
	case len(s.choices) == 0:
		return s.fail(dst, Unreadable())
	}
	return s.close(s.release(dst)), nil
}

// close appends the end of a stream that is whole.
func (s *Stream) close(dst []byte) []byte {
	s.ended = true
	return s.dialect.Close(dst, &s.usage)
}

// Cut appends the content of the frames that were held when the stream was cut, and the error that says so. The error is as of
// [Stream.Append].
func (s *Stream) Cut(dst []byte, why *Refusal) ([]byte, error) {
	if s.ended {
		return dst, nil
	}
	return s.fail(dst, why)
}

// finished reports whether the service has ended every choice, and at least one.
func (s *Stream) finished() bool {
	return len(s.choices) > 0 && !slices.ContainsFunc(s.choices, func(p progress) bool { return !p.finished })
}

// unfinished is the error of a stream that ended before its choices.
func (s *Stream) unfinished() *Refusal {
	if len(s.choices) == 0 {
		return Unreadable()
	}
	return &Refusal{Status: 502, Code: CodeAnswer, Message: "The service's answer broke off."}
}

// translate passes on one event.
func (s *Stream) translate(dst []byte, e event) ([]byte, error) {
	ok := s.answer.read(e.data)
	switch {
	case e.isError || ok && s.answer.failed():
		if e.status < 400 || e.status > 599 {
			e.status = 0
		}
		return s.fail(dst, ReadRefusal(e.status, e.data))
	case !ok:
		return s.fail(dst, Unreadable())
	}
	s.usage.Raise(s.answer.usage)
	ready := s.mode.classify(s, len(e.data))
	if ready && len(s.held) == 0 {
		return s.pass(dst), nil
	}
	s.held = append(s.held, bytes.Clone(e.data))
	s.heldBytes += len(e.data)
	if ready {
		dst = s.release(dst)
	}
	return dst, nil
}

// release passes on the held frames.
func (s *Stream) release(dst []byte) []byte {
	s.mode.decide()
	for _, frame := range s.held {
		s.answer.read(frame)
		dst = s.pass(dst)
	}
	s.held, s.heldBytes = nil, 0
	return dst
}

// Failed reports whether the stream has ended with an error.
func (s *Stream) Failed() bool { return s.failed }

// fail ends the stream with an error.
func (s *Stream) fail(dst []byte, r *Refusal) ([]byte, error) {
	dst = s.release(dst)
	s.ended, s.failed = true, true
	if !s.started {
		return dst, r
	}
	if s.Judge != nil {
		s.Judge(r, true)
	}
	return s.dialect.Fail(dst, r), nil
}
