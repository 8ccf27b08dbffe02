package openai

import (
	"bytes"
	"strconv"
)

// mostEvent is how many bytes an event of a stream may have. The last event of a cumulative stream holds the whole text.
const mostEvent = 32 << 20

// events cuts a stream into its events. Pieces of the stream may be cut anywhere. Lines end with LF, CR or both.
type events struct {
	line     []byte // the beginning of an incomplete line
	data     []byte // of the open event
	hasData  bool   // of the open event
	isError  bool   // the open event is named error
	status   int    // that the open event names; 0: none
	afterCR  bool   // the last byte was a CR, so that a LF belongs to it
	started  bool   // the first line was read: no byte order mark can follow
	tooLarge bool   // an event was too large
}

// event is a complete event.
type event struct {
	data    []byte
	isError bool
	status  int
}

// read takes bytes from a piece up to the end of an event, and returns the rest. found is false if the piece has no such end.
func (e *events) read(piece []byte) (rest []byte, found bool) {
	for len(piece) > 0 {
		if e.afterCR && piece[0] == '\n' {
			piece = piece[1:]
		}
		e.afterCR = false
		end := bytes.IndexAny(piece, "\r\n")
		if end < 0 {
			e.keep(piece)
			return nil, false
		}
		line := piece[:end]
		e.afterCR = piece[end] == '\r'
		piece = piece[end+1:]
		if len(e.line) > 0 {
			e.keep(line)
			line = e.line
		}
		blank := e.readLine(line)
		e.line = e.line[:0]
		switch {
		case blank && e.open():
			return piece, true
		case blank:
			e.status = 0
		}
	}
	return nil, false
}

func (e *events) keep(part []byte) {
	if e.tooLarge = e.tooLarge || len(e.line)+len(part) > mostEvent; !e.tooLarge {
		e.line = append(e.line, part...)
	}
}

// end reads an incomplete last line and reports whether an event is open.
func (e *events) end() bool {
	if len(e.line) > 0 {
		e.readLine(e.line)
		e.line = e.line[:0]
	}
	return e.open()
}

// open reports whether an event has begun. The service sends errors without data, too.
func (e *events) open() bool { return e.hasData || e.isError }

// event returns the event that was read and starts the next. It is valid until the next read.
func (e *events) event() event {
	found := event{data: e.data, isError: e.isError, status: e.status}
	e.data, e.isError, e.status, e.hasData = e.data[:0], false, 0, false
	return found
}

// readLine reads a line and reports whether it is blank.
func (e *events) readLine(line []byte) bool {
	if !e.started {
		e.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		return true
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
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
	if e.hasData {
		e.data = append(e.data, '\n')
	}
	e.data, e.hasData = append(e.data, value...), true
}
