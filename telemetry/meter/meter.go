// Package meter reads the service's answers on their way to a client: how much an answer used, how it ended, which task it
// names, and whether it is an error. It reads JSON documents and streams of events.
//
// It only reads: it changes, delays and stores no byte of an answer, and decides nothing. The gateway charges by what it reads.
//
// It promises that its memory is bounded for answers of any size, that it does not matter where an answer is cut into pieces, and that
// an answer it cannot read is never an error.
package meter

import "strings"

// byteOrderMark may precede a JSON document or a stream.
const byteOrderMark = "\xef\xbb\xbf"

// form is how an answer is read.
type form uint8

const (
	whole  form = iota // one JSON document
	stream             // server-sent events with a JSON document each
	opaque             // it cannot be read
)

// Dialect is the interface whose answers are read.
type Dialect string

// The dialects. Answers of the others come from paths that the service serves in addition to its own interface.
const (
	Service   Dialect = ""          // the service's own
	Chat      Dialect = "openai"    // OpenAI's chat completions
	Responses Dialect = "responses" // OpenAI's Responses
	Messages  Dialect = "messages"  // Anthropic's Messages
)

// roots are the places of each dialect's documents.
var roots = map[Dialect]place{Service: placeRoot, Chat: placeChat, Responses: placeResponses, Messages: placeMessages}

// Meter reads an answer on its way to the client. It gets the body's bytes in order, in pieces of any size, and does not depend on
// where they are cut. It keeps one short value at a time, so an answer of any size can be read.
//
// The Content-Type decides whether an answer is a stream of events. Everything else is read as JSON, because an answer with a wrong
// type still costs the usage that it reports. The zero value is a Meter of a JSON answer. A Meter must not be copied, and only one
// goroutine at a time may use it.
type Meter struct {
	form     form
	mark     uint8 // bytes of the byte order mark seen
	events   events
	document document
	answer   answer
}

// New returns a Meter for an answer with these headers. An answer with a Content-Encoding other than identity is opaque.
func New(contentType, contentEncoding string) *Meter {
	m := new(Meter)
	m.Reset(contentType, contentEncoding)
	return m
}

// Speaks sets the dialect of the answer. It must be called before the first Write.
func (m *Meter) Speaks(d Dialect) { m.document.root = roots[d] }

// Reset makes the Meter ready for another answer. Readings of earlier ones stay valid.
func (m *Meter) Reset(contentType, contentEncoding string) {
	*m = Meter{}
	mediaType, _, _ := strings.Cut(contentType, ";")
	encoding := strings.TrimSpace(contentEncoding)
	switch {
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		m.form = opaque
	case strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream"):
		m.form = stream
	}
}

// Write reads the next piece of the body. It never fails and does not keep p.
func (m *Meter) Write(p []byte) (int, error) {
	n := len(p)
	if m.document.answer == nil {
		m.events.document = &m.document
		m.document.answer = &m.answer
		m.document.restart()
	}
	if m.form != opaque {
		m.read(m.skipMark(p))
	}
	return n, nil
}

func (m *Meter) read(p []byte) {
	if m.form == stream {
		m.events.read(p)
	} else {
		m.document.read(p)
	}
}

// skipMark drops a byte order mark. Bytes that only begin like one are read as part of the document.
func (m *Meter) skipMark(p []byte) []byte {
	for m.mark < uint8(len(byteOrderMark)) && len(p) > 0 {
		if p[0] != byteOrderMark[m.mark] {
			seen := byteOrderMark[:m.mark]
			m.mark = uint8(len(byteOrderMark))
			m.read([]byte(seen))
			break
		}
		m.mark++
		p = p[1:]
	}
	return p
}

// End returns what the answer has reported so far. It may be called at any time; reading can continue after it.
//
// A JSON answer is complete when its document was closed. A stream is complete when its last frame was closed and it has marked
// its end: every choice has a finish reason, the task's status is final, output.finished was true, or an error frame arrived.
// Only the caller knows whether the connection ended properly; if it did, a closed stream is whole even if it has not marked its
// end.
func (m *Meter) End() Reading {
	if notJSON := m.document.scan.state == atFault && !m.document.scan.begun; m.form == opaque || notJSON && m.form == whole {
		return Reading{Opaque: true}
	}
	answer := m.answer // a copy: more of an open frame may follow
	closed := m.closeDocument(&answer)
	r := answer.reading()
	if m.document.root == placeMessages {
		r.Usage.addCached()
	}
	r.Closed, r.Complete = closed, closed && (m.form == whole || answer.saysEnd())
	return r
}

// closeDocument ends the last document in a, a copy of the answer, and reports whether it was closed.
func (m *Meter) closeDocument(a *answer) bool {
	closed := m.document.scan.done()
	inFrame := m.events.data || m.events.isError // the last frame lacks its empty line
	if m.form == stream && !inFrame {
		return a.Frames > 0
	}
	if m.form == stream && (closed || m.events.isError) {
		a.Frames++
	}
	fault := m.document.scan.state == atFault
	a.GaveUp = a.GaveUp || fault && (m.form == whole || m.events.data)
	a.endDocument(m.events.isError, !closed)
	return closed
}
