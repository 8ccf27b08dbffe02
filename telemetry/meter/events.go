package meter

import "bytes"

// lineState is which part of a line of an event stream comes next.
type lineState uint8

const (
	inField   lineState = iota // the name before the colon
	afterName                  // perhaps the one space that may follow the colon
	inData
	inValue   // the value of event, or the text of a comment
	inIgnored // the rest of any other line
)

// maxLine bounds the kept bytes of a line other than data. The longest known one is ":HTTP_STATUS/400".
const maxLine = 32

var (
	statusComment = []byte("HTTP_STATUS/")
	lineFeed      = []byte("\n") // between the data lines of one frame
)

// events splits an event stream into lines and lines into fields, and passes the data to the document. As the standard says, it
// accepts LF, CR and CRLF as line ends, data over several lines, comments, and one space or none after a colon.
type events struct {
	document *document

	part    lineState
	started bool // the line is not empty
	cr      bool // the previous byte was a CR: an LF belongs to it
	data    bool // the frame has a data line
	isError bool // the frame is an event:error

	name, value       [maxLine]byte
	nameLen, valueLen int
}

// read takes the next piece of the stream. It searches for each of the two line ends separately, once per occurrence: a search for
// both at every line would take quadratic time on a stream that uses only one.
func (e *events) read(p []byte) {
	lf, cr := indexFrom(p, 0, '\n'), indexFrom(p, 0, '\r')
	for i := 0; i < len(p); {
		if lf < i {
			lf = indexFrom(p, i, '\n')
		}
		if cr < i {
			cr = indexFrom(p, i, '\r')
		}
		end := min(lf, cr)
		if e.cr && lf == i {
			e.cr = false
			i++
			continue
		}
		e.cr = end == cr && end < len(p)
		switch whole := end < len(p); {
		case whole && !e.started && e.usual(p[i:end]):
		case whole:
			e.line(p[i:end])
			e.endLine()
		default:
			e.line(p[i:])
		}
		i = end + 1
	}
}

// usual takes a whole line that nearly every frame has; false: it is another line.
func (e *events) usual(line []byte) bool {
	switch string(line) {
	case "event:result":
		e.isError = false
	case ":HTTP_STATUS/200":
		e.document.answer.failing.status = 200
	default:
		return len(line) > 3 && string(line[:3]) == "id:"
	}
	return true
}

// line takes the next piece of a line.
func (e *events) line(p []byte) {
	if len(p) == 0 {
		return
	}
	e.started = true
	if e.part == inField {
		colon := bytes.IndexByte(p, ':')
		if colon < 0 {
			e.nameLen += copy(e.name[e.nameLen:], p)
			return
		}
		e.nameLen += copy(e.name[e.nameLen:], p[:colon])
		e.part = afterName
		p = p[colon+1:]
	}
	if e.part == afterName && len(p) > 0 {
		e.part = e.valuePart()
		if p[0] == ' ' {
			p = p[1:]
		}
	}
	switch e.part {
	case inData:
		e.document.read(p)
	case inValue:
		e.valueLen += copy(e.value[e.valueLen:], p)
	}
}

// valuePart decides by the field's name how its value is read.
func (e *events) valuePart() lineState {
	switch string(e.name[:e.nameLen]) {
	case "data":
		if e.data {
			e.document.read(lineFeed)
		}
		e.data = true
		return inData
	case "event", "":
		return inValue
	}
	return inIgnored
}

// endLine takes a whole line; an empty one ends the frame.
func (e *events) endLine() {
	if !e.started {
		e.endFrame()
		return
	}
	if e.part <= afterName { // a field without a value
		e.part = e.valuePart()
	}
	if e.part == inValue {
		e.takeField(e.value[:e.valueLen])
	}
	e.part, e.started, e.nameLen, e.valueLen = inField, false, 0, 0
}

func (e *events) takeField(value []byte) {
	if e.nameLen > 0 {
		e.isError = string(value) == "error"
		return
	}
	if digits, ok := bytes.CutPrefix(value, statusComment); ok {
		e.document.answer.takeStatus(digits)
	}
}

func (e *events) endFrame() {
	if e.data || e.isError {
		a := e.document.answer
		a.Frames++
		a.GaveUp = a.GaveUp || e.data && !e.document.scan.done()
		a.endDocument(e.isError, false)
	}
	e.data, e.isError = false, false
	e.document.answer.beginDocument()
	e.document.restart()
}

// indexFrom returns the index of the first c in p[i:], counted from the start of p; len(p) if absent.
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}
