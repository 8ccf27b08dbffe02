package upstream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
)

// proto is the only version whose heads are read here.
const proto = "HTTP/1.1"

// answerHead reads the head of a usual answer: whole in the buffer, HTTP/1.1, with a Content-Length, each header on one line. It
// takes nothing of any other answer from the buffer, nor of a broken one: net/http reads those, and decides what is refused. It
// saves time: net/http makes a string of each line and a map of all headers.
type answerHead struct {
	response http.Response
	header   http.Header // reused
	values   []string    // of the header; reused
	length   int64       // Content-Length; -1: none so far
	body     sized
}

// read returns the answer, whose body is still to be read, or nil if net/http has to read it. keep lists the headers to return,
// in their canonical form; nil: all.
func (h *answerHead) read(in *bufio.Reader, out *http.Request, keep []string) *http.Response {
	text, _ := in.Peek(in.Buffered())
	statusLine, rest, _ := cutLine(text)
	status := statusOf(statusLine)
	if status == 0 || !plain(statusLine) || out.Method == http.MethodHead || out.Method == http.MethodConnect {
		return nil
	}
	if h.header == nil {
		h.header = make(http.Header)
	}
	clear(h.header)
	h.values, h.length = h.values[:0], -1
	line, rest, whole := cutLine(rest)
	for ; len(line) > 0; line, rest, whole = cutLine(rest) {
		if !h.field(line, keep) {
			return nil
		}
	}
	if !whole || h.length < 0 {
		return nil
	}
	h.response = http.Response{
		Status: intern(statusLine[len(proto)+1:]), StatusCode: status, Proto: proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: h.header, ContentLength: h.length, Body: http.NoBody, Request: out,
	}
	if h.length > 0 {
		h.body = sized{in: in, left: h.length}
		h.response.Body = &h.body
	}
	_, _ = in.Discard(len(text) - len(rest)) // it is in the buffer
	return &h.response
}

// cutLine splits a head after its first line, and drops that line's CRLF; false: the first line does not end with CRLF.
func cutLine(text []byte) (line, rest []byte, whole bool) {
	end := bytes.IndexByte(text, '\n')
	if end < 1 || text[end-1] != '\r' {
		return nil, nil, false
	}
	return text[:end-1], text[end+1:], true
}

// plain reports whether a text has nothing but visible ASCII characters, blanks and tabs. It checks eight bytes at a time, or one
// by one if a tab is among them.
func plain(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(text) >= 8 {
		w := binary.LittleEndian.Uint64(text)
		if (w|(w+ones)|(w-ones*' '))&highs != 0 && !visible(text[:8]) {
			return false
		}
		text = text[8:]
	}
	return visible(text)
}

func visible(text []byte) bool {
	for _, b := range text {
		if class[b]&inValue == 0 {
			return false
		}
	}
	return true
}

// class says where a character may occur in a line that is read here.
var class = func() (of [256]uint8) {
	for b := byte(' '); b < 0x7f; b++ {
		of[b] = inValue
		if lower := b | 0x20; lower >= 'a' && lower <= 'z' || b >= '0' && b <= '9' || b == '-' || b == '_' {
			of[b] |= inName // the few other characters that a name may have are left to net/http
		}
	}
	of['\t'] = inValue
	return of
}()

const (
	inValue uint8 = 1 << iota
	inName
)

// statusOf returns the status of a status line whose answer may have a body; 0: any other line.
func statusOf(line []byte) int {
	code, ok := bytes.CutPrefix(line, []byte(proto+" "))
	if !ok || len(code) < 3 || len(code) > 3 && code[3] != ' ' {
		return 0
	}
	status := int(decimal(code[:3]))
	if status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified {
		return 0
	}
	return status
}

// field reads a header's line, and reports false if net/http has to read the answer.
func (h *answerHead) field(line []byte, keep []string) bool {
	colon := 0
	for colon < len(line) && class[line[colon]]&inName != 0 {
		colon++
	}
	if colon == 0 || colon == len(line) || line[colon] != ':' || !plain(line[colon:]) {
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	if !h.frame(name, value) {
		return false
	}
	if canonical := canonicalOf(name, keep); canonical != "" {
		return h.set(canonical, value)
	}
	return true
}

// frame checks the headers that frame an answer, and reports whether this one leaves the framing unambiguous.
func (h *answerHead) frame(name, value []byte) bool {
	switch {
	case is(name, "Content-Length"):
		first := h.length < 0
		h.length = decimal(value)
		return first && h.length >= 0
	case is(name, "Connection"):
		return is(value, "keep-alive")
	}
	return !is(name, "Transfer-Encoding") && !is(name, "Trailer") && !is(name, "Pragma")
}

// set keeps a header. Repeated headers are left to net/http, which joins them.
func (h *answerHead) set(name string, value []byte) bool {
	if _, twice := h.header[name]; twice {
		return false
	}
	n := len(h.values)
	h.values = append(h.values, intern(value))
	h.header[name] = h.values[n : n+1 : n+1]
	return true
}

// canonicalOf returns the canonical form of a name that is kept; "": it is not kept.
func canonicalOf(name []byte, keep []string) string {
	if keep == nil {
		return http.CanonicalHeaderKey(string(name))
	}
	for _, kept := range keep {
		if is(name, kept) {
			return kept
		}
	}
	return ""
}

// is reports whether two names are equal, in any case.
func is(name []byte, this string) bool {
	return len(name) == len(this) && (string(name) == this || strings.EqualFold(string(name), this))
}

// intern makes a string of a value, without allocating for the values of nearly all answers.
func intern(value []byte) string {
	switch string(value) {
	case "200 OK":
		return "200 OK"
	case "application/json":
		return "application/json"
	case "application/json; charset=utf-8":
		return "application/json; charset=utf-8"
	case "application/json;charset=UTF-8":
		return "application/json;charset=UTF-8"
	}
	return string(value)
}

// decimal reads a number of at most 18 digits; -1: it is not one.
func decimal(text []byte) (n int64) {
	if len(text) == 0 || len(text) > 18 {
		return -1
	}
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return -1
		}
		n = n*10 + int64(digit-'0')
	}
	return n
}

// sized is a body of a known length.
type sized struct {
	in   *bufio.Reader
	left int64
}

func (s *sized) Read(p []byte) (n int, err error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err = s.in.Read(p)
	s.left -= int64(n)
	switch {
	case s.left == 0 && err == nil:
		return n, io.EOF
	case s.left > 0 && err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing: the exchange reads the rest, or closes the connection.
func (s *sized) Close() error { return nil }
