package conversation

import (
	"bytes"
	"strconv"
)

// mostEvent is how many bytes an event of a stream may have. The last event of a cumulative stream holds the whole text.
const mostEvent = 32 << 20

// events cuts a stream into its events. Pieces of the stream may be cut anywhere. Lines end with LF, CR or both.
type events struct {
	piece    []byte
	at       int    // the piece was read up to here
	lf, cr   int    // the next line ends in the piece; before at: not searched for
	line     []byte // the beginning of an incomplete line
	data     []byte // of the open event: a part of the piece, or all of room
	room     []byte // for data that is not one line of one piece
	dataEnd  int    // in the piece, unless it is moved
	hasData  bool   // of the open event
	moved    bool   // its data is in room
	isError  bool   // the open event is named error
	status   int    // that the open event names; 0: none
	afterCR  bool   // the last byte was a CR, so that a LF belongs to it
	started  bool   // the first line was read: no byte order mark can follow
	tooLarge bool   // an event was too large: none follows
}

// event is a complete event.
type event struct {
	data    []byte
	at      int // where the piece has the data; negative: not in one part
	isError bool
	status  int
}

// take takes the next piece, which next then reads to its end.
func (e *events) take(piece []byte) { e.piece, e.at, e.lf, e.cr = piece, 0, -1, -1 }

// next reads up to the end of an event and reports whether there is one. It keeps a copy of an event that continues after the
// piece.
func (e *events) next() bool {
	for e.at < len(e.piece) && !e.tooLarge {
		if e.afterCR && e.piece[e.at] == '\n' {
			e.at++
		}
		line, whole := e.readPiece()
		if !whole {
			e.keep(line)
			break
		}
		if blank := e.takeLine(line); blank && e.open() {
			return true
		} else if blank {
			e.status = 0
		}
	}
	e.move()
	e.piece = nil
	return false
}

// readPiece reads up to the end of a line, or of the piece. It searches for a CR once for many lines: nearly no stream has one.
func (e *events) readPiece() (line []byte, whole bool) {
	if e.lf < e.at {
		e.lf = indexFrom(e.piece, e.at, '\n')
	}
	if e.cr < e.at {
		e.cr = indexFrom(e.piece, e.at, '\r')
	}
	end := min(e.lf, e.cr)
	line = e.piece[e.at:end]
	e.afterCR = end < len(e.piece) && end == e.cr
	e.at = end + 1
	return line, end < len(e.piece)
}

// indexFrom is the index of c in p at i or later, len(p) if there is none.
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

func (e *events) keep(part []byte) {
	if e.tooLarge = e.tooLarge || len(e.line)+len(part) > mostEvent; !e.tooLarge {
		e.line = append(e.line, part...)
	}
}

// takeLine takes a line, whose beginning may have been kept, and reports whether it is blank.
func (e *events) takeLine(line []byte) bool {
	if len(e.line) == 0 {
		return e.readLine(line)
	}
	e.keep(line)
	blank := e.readLine(e.line)
	e.move()
	e.line = e.line[:0]
	return blank
}

// end reads an incomplete last line and reports whether an event is open.
func (e *events) end() bool {
	if len(e.line) > 0 {
		e.takeLine(nil)
	}
	return e.open()
}

// open reports whether an event has begun. The service also sends errors without data.
func (e *events) open() bool { return e.hasData || e.isError }

// event returns the event that was read and starts the next. It is valid until the next one is read.
func (e *events) event() event {
	found := event{data: e.data, at: e.dataEnd - len(e.data), isError: e.isError, status: e.status}
	if e.moved || !e.hasData {
		found.at = -1
	}
	e.data, e.moved, e.isError, e.status, e.hasData = nil, false, false, 0, false
	return found
}

// fresh reports whether the next event begins here, with nothing of it read.
func (e *events) fresh() bool { return !e.open() && len(e.line) == 0 && e.status == 0 && !e.afterCR }

// rest is the unread rest of the piece.
func (e *events) rest() []byte { return e.piece[min(e.at, len(e.piece)):] }

// readLine reads a line and reports whether it is blank.
func (e *events) readLine(line []byte) bool {
	if !e.started {
		e.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		return true
	}
	name, value := line, line[:0]
	if colon := bytes.IndexByte(line, ':'); colon >= 0 {
		name, value = line[:colon], bytes.TrimPrefix(line[colon+1:], []byte(" "))
	}
	switch string(name) {
	case "data":
		e.addData(value)
	case "event":
		e.isError = string(value) == "error"
	case "": // a comment: the service writes the status into one
		if status, ok := bytes.CutPrefix(value, []byte("HTTP_STATUS/")); ok {
			e.status, _ = strconv.Atoi(string(status))
		}
	}
	return false
}

func (e *events) addData(value []byte) {
	if e.tooLarge = e.tooLarge || len(e.data)+len(value) > mostEvent; e.tooLarge {
		return
	}
	if !e.hasData {
		e.data, e.dataEnd, e.hasData = value, e.at-1, true
		return
	}
	e.move()
	e.room = append(append(e.room, '\n'), value...)
	e.data = e.room
}

// move copies the data of the open event out of memory that is about to be reused.
func (e *events) move() {
	if e.hasData && !e.moved {
		e.room = append(e.room[:0], e.data...)
		e.data, e.moved = e.room, true
	}
}
