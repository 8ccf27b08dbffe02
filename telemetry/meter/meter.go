package meter

import "strings"

// byteOrderMark may stand before a JSON document or a stream.
const byteOrderMark = "\xef\xbb\xbf"

// form is how an answer is read.
type form uint8

const (
	document form = iota // one JSON document
	stream               // server-sent events with a JSON document each
	opaque               // not at all
)

// Meter reads along an answer: it sees the body's bytes in order, in pieces of any size, and changes, keeps and delays
// none of them. Where the pieces are cut makes no difference to what it reads. It holds no more of the answer than one
// short value, whatever the size of a body, frame or line, so there is no size at which it has to give up.
//
// The Content-Type decides whether an answer is a stream; anything else is tried as JSON, because a wrong type is no
// reason to charge an estimate. The zero value is a Meter of a JSON answer. A Meter must not be copied, and serves one
// goroutine at a time.
type Meter struct {
	form form
	mark uint8 // bytes of the byte order mark seen
	framing
	scanner
	answer

	token     []byte // the name or value being read
	tokenRoom [64]byte
}

// answer is what has been read of it.
type answer struct {
	usage      Usage
	odd        bool
	strange    bool // it did not begin like a JSON object
	gaveUp     bool
	hasContent bool
	finished   bool // output.finished was true
	frames     int

	frame   frame
	seen    uint8 // slots that had a choice
	reasons [proseSlots]string

	texts    [proseSlots * proseKinds]prose
	touched  uint16 // texts of this frame
	pictures pictures

	responseID, taskID, taskStatus string
	failed                         bool // an error body or frame came
	failure                        frame
}

// frame is what a document may say about a failure. It counts when the frame turns out to be one.
type frame struct {
	code, message string
	status        int
}

// New returns a Meter for an answer with these headers. A Content-Encoding other than identity, which nobody
// asked for, makes it opaque.
func New(contentType, contentEncoding string) *Meter {
	m := new(Meter)
	m.Reset(contentType, contentEncoding)
	return m
}

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
	if m.token == nil {
		m.token = m.tokenRoom[:0]
	}
	if m.form != opaque {
		m.read(m.skipMark(p))
	}
	return n, nil
}

func (m *Meter) read(p []byte) {
	if m.form == stream {
		m.split(p)
	} else {
		m.feed(p)
	}
}

// skipMark drops a byte order mark. What only began like one is read after all.
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

// prose returns the text that a string at the current place belongs to, nil if it is none.
func (m *Meter) prose() *prose {
	kind, ok := m.place.prose()
	if !ok {
		return nil
	}
	i := int(m.slot)*proseKinds + kind
	m.touched |= 1 << i
	return &m.texts[i]
}

// settle takes the document, which ends here, into account. One that is cut is not over: its bytes stopped coming.
func (m *Meter) settle(cut bool) {
	for i := range m.texts {
		if m.touched&(1<<i) != 0 {
			m.hasContent = m.hasContent || m.texts[i].length > 0
			m.texts[i].endFrame(cut)
		}
	}
	m.touched = 0
	m.pictures.endFrame()
	if m.isError || m.frame.code != "" {
		m.failed, m.failure = true, m.frame
	}
	m.gaveUp = m.gaveUp || m.data && m.state != atEnd && (!cut || m.state == atLoss)
}
