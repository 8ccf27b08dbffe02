package meter

import "bytes"

// lineState is which part of a line of an event stream comes next.
type lineState uint8

const (
	inField   lineState = iota // the name before the colon
	afterName                  // perhaps the one space that may follow the colon
	inData
	inValue   // of event, or a comment's text
	inIgnored // the rest of a line that says nothing here
)

// maxLine is how much of a line other than data is kept. The longest that matters is ":HTTP_STATUS/400".
const maxLine = 32

var (
	statusComment = []byte("HTTP_STATUS/")
	lineFeed      = []byte("\n") // between the data lines of one frame
)

// framing splits an event stream into lines and lines into fields. It accepts what the standard does: LF, CR and CRLF
// ends, data over several lines, comments, one space or none after a colon.
type framing struct {
	part    lineState
	started bool // the line has a byte
	cr      bool // the byte before was a CR: an LF belongs to it
	data    bool // the frame has a data line
	isError bool // the frame is an event:error

	name, value       [maxLine]byte
	nameLen, valueLen int
}

// split takes the next piece of the stream. The ends of lines are found with one search for each of the two
// characters: to look for both anew at every line would take quadratic time on a stream that uses only one.
func (m *Meter) split(p []byte) {
	lf, cr := indexFrom(p, 0, '\n'), indexFrom(p, 0, '\r')
	for i := 0; i < len(p); {
		if lf < i {
			lf = indexFrom(p, i, '\n')
		}
		if cr < i {
			cr = indexFrom(p, i, '\r')
		}
		end := min(lf, cr)
		if m.cr && lf == i {
			m.cr = false
			i++
			continue
		}
		m.cr = end == cr && end < len(p)
		switch whole := end < len(p); {
		case whole && !m.started && m.usual(p[i:end]):
		case whole:
			m.line(p[i:end])
			m.endLine()
		default:
			m.line(p[i:])
		}
		i = end + 1
	}
}

// usual takes a whole line that nearly every frame has, without taking it apart, and says whether it was one.
func (m *Meter) usual(line []byte) bool {
	switch string(line) {
	case "event:result":
		m.isError = false
	case ":HTTP_STATUS/200":
		m.frame.status = 200
	default:
		return len(line) > 3 && string(line[:3]) == "id:"
	}
	return true
}

// line takes the next piece of a line.
func (m *Meter) line(p []byte) {
	if len(p) == 0 {
		return
	}
	m.started = true
	if m.part == inField {
		colon := bytes.IndexByte(p, ':')
		if colon < 0 {
			m.nameLen += copy(m.name[m.nameLen:], p)
			return
		}
		m.nameLen += copy(m.name[m.nameLen:], p[:colon])
		m.part = afterName
		p = p[colon+1:]
	}
	if m.part == afterName && len(p) > 0 {
		m.part = m.valuePart()
		if p[0] == ' ' {
			p = p[1:]
		}
	}
	switch m.part {
	case inData:
		m.feed(p)
	case inValue:
		m.valueLen += copy(m.value[m.valueLen:], p)
	}
}

// valuePart says what becomes of the field whose name was read.
func (m *Meter) valuePart() lineState {
	switch string(m.name[:m.nameLen]) {
	case "data":
		if m.data {
			m.feed(lineFeed)
		}
		m.data = true
		return inData
	case "event", "":
		return inValue
	}
	return inIgnored
}

// endLine takes a whole line; an empty one ends the frame.
func (m *Meter) endLine() {
	if !m.started {
		m.endFrame()
		return
	}
	if m.part <= afterName { // a field without a value
		m.part = m.valuePart()
	}
	if m.part == inValue {
		m.takeField(m.value[:m.valueLen])
	}
	m.part, m.started, m.nameLen, m.valueLen = inField, false, 0, 0
}

func (m *Meter) takeField(value []byte) {
	if m.nameLen > 0 {
		m.isError = string(value) == "error"
		return
	}
	if digits, ok := bytes.CutPrefix(value, statusComment); ok {
		if n, ok := parseNumber(digits); ok && n >= 100 && n < 1000 {
			m.frame.status = int(n)
		}
	}
}

// endFrame closes the frame and makes ready for the next one.
func (m *Meter) endFrame() {
	if m.data || m.isError {
		m.frames++
		m.settle(false)
	}
	m.data, m.isError = false, false
	m.frame = frame{}
	m.scanner = scanner{}
}
