package openai

// Stream translates one stream of the service into chat.completion.chunks. It does not wait: what a piece of the service's
// stream says is in what Append returns for it, but for the rare frame that only the next one explains (see [pace]). A Stream
// serves one goroutine at a time and must not be copied.
type Stream struct {
	head    []byte // of each chunk, up to its choices
	tail    []byte // of each chunk, after its choices
	usage   []byte // the last one seen; it counts the stream so far
	told    bool   // usage is asked for
	events  events
	answer  answer
	pace    pace
	choices []progress
	held    frames // frames whose meaning is open
	started bool   // a chunk was made
	over    bool   // nothing more is made
}

// NewStream starts a stream. withUsage is [Request].Usage.
func NewStream(head Head, withUsage bool) *Stream {
	s := &Stream{told: withUsage, tail: []byte("]}\n\n")}
	s.head = append(head.appendTo([]byte("data: "), "chat.completion.chunk"), `,"choices":[`...)
	if withUsage {
		s.tail = []byte(`],"usage":null}` + "\n\n")
	}
	return s
}

// Append reads the next piece of the service's stream, which may be cut anywhere, and appends the events that the client gets.
//
// An error of the service before any content is returned, as a [*Refusal], and is to be answered as one. Later it is appended
// as the stream's last event. After either, nothing more is made.
func (s *Stream) Append(dst, piece []byte) ([]byte, error) {
	for len(piece) > 0 && !s.over {
		rest, found := s.events.read(piece)
		if s.events.large {
			return s.fail(dst, errAnswer)
		}
		if found {
			var err error
			if dst, err = s.take(dst, s.events.event()); err != nil {
				return dst, err
			}
		}
		piece = rest
	}
	return dst, nil
}

// End appends the end of a stream: the usage, where asked for, and [DONE]. It is for a stream whose bytes ended in order; one
// that was cut must be cut for the client too. Its error is as Append's.
func (s *Stream) End(dst []byte) ([]byte, error) {
	if s.over {
		return dst, nil
	}
	if s.events.end() {
		var err error
		if dst, err = s.take(dst, s.events.event()); err != nil || s.over {
			return dst, err
		}
	}
	s.pace.end()
	dst = s.release(dst)
	s.over = true
	if u := readUsage(s.usage); s.told && u.known() {
		dst = u.appendTo(append(append(dst, s.head...), `],"usage":`...))
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}

// take translates one event.
func (s *Stream) take(dst []byte, e event) ([]byte, error) {
	object, ok := readAnswer(e.data)
	if ok {
		s.answer.read(object)
	}
	switch {
	case e.isError || ok && s.answer.failed():
		if e.status < 400 {
			e.status = 500
		}
		return s.fail(dst, ReadRefusal(e.status, object))
	case !ok:
		return s.fail(dst, errAnswer)
	}
	if kind(s.answer.usage) == '{' {
		s.usage = append(s.usage[:0], s.answer.usage...)
	}
	if !s.pace.weigh(s) {
		s.held.add(object)
		return dst, nil
	}
	if s.held.empty() {
		return s.emit(dst), nil
	}
	s.held.add(object)
	return s.release(dst), nil
}

// release makes the chunks of the frames that were held.
func (s *Stream) release(dst []byte) []byte {
	for object := range s.held.all() {
		s.answer.read(object)
		dst = s.emit(dst)
	}
	s.held.clear()
	return dst
}

// fail ends the stream with an error of the service.
func (s *Stream) fail(dst []byte, r *Refusal) ([]byte, error) {
	s.pace.end()
	dst = s.release(dst)
	s.over = true
	if !s.started {
		return dst, r
	}
	return append(AppendError(append(dst, "data: "...), r), "\n\n"...), nil
}
