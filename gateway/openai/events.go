package openai

import (
	"bytes"
	"strconv"
)

// mostEvent is how many bytes one event of a stream may have. Where every event repeats the text so far, the last is the whole.
const mostEvent = 32 << 20

// events cuts a stream into its events. Pieces of the stream may be cut anywhere. Lines end with LF, CR or both.
type events struct {
	line    []byte // the beginning of a line whose end has not come
	data    []byte // of the event so far
	named   bool   // the event says to be an error
	status  int    // that the event says; 0: none
	filled  bool   // the event has data
	cr      bool   // the last byte was a CR, and a LF would belong to it
	started bool   // the first line was read: no byte order mark follows
	large   bool   // an event is too large
}

// event is one event: what it carries, and what it says of itself.
type event struct {
	data    []byte
	isError bool
	status  int
}

// read takes bytes from the front of a piece, up to the end of an event. found is false where the piece ends before.
func (e *events) read(piece []byte) (rest []byte, found bool) {
	for len(piece) > 0 {
		if e.cr && piece[0] == '\n' {
			piece = piece[1:]
		}
		e.cr = false
		end := bytes.IndexAny(piece, "\r\n")
		if end < 0 {
			e.keep(piece)
			return nil, false
		}
		line := piece[:end]
		e.cr = piece[end] == '\r'
		piece = piece[end+1:]
		if len(e.line) > 0 {
			e.keep(line)
			line = e.line
		}
		ended := e.take(line)
		e.line = e.line[:0]
		if ended && (e.filled || e.named) {
			return piece, true
		}
		if ended {
			e.status = 0
		}
	}
	return nil, false
}

func (e *events) keep(part []byte) {
	if e.large = e.large || len(e.line)+len(part) > mostEvent; !e.large {
		e.line = append(e.line, part...)
	}
}

// end takes what stands after the last line end, and reports whether an event was left open.
func (e *events) end() bool {
	if len(e.line) > 0 {
		e.take(e.line)
		e.line = e.line[:0]
	}
	return e.filled || e.named
}

// event returns the event that was found, and makes room for the next. It is good until the next read.
func (e *events) event() event {
	found := event{data: e.data, isError: e.named, status: e.status}
	e.data, e.named, e.status, e.filled = e.data[:0], false, 0, false
	return found
}

// take reads one line and reports whether it is blank.
func (e *events) take(line []byte) bool {
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
		e.named = string(value) == "error"
	case "": // a comment; the service writes the status in one
		if status, ok := bytes.CutPrefix(value, []byte("HTTP_STATUS/")); ok {
			e.status, _ = strconv.Atoi(string(status))
		}
	}
	return false
}

func (e *events) addData(value []byte) {
	if e.large = e.large || len(e.data)+len(value) > mostEvent; e.large {
		return
	}
	if e.filled {
		e.data = append(e.data, '\n')
	}
	e.data, e.filled = append(e.data, value...), true
}
