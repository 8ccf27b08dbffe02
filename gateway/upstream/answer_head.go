package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
)

// proto is the one version whose heads are read here.
const proto = "HTTP/1.1"

// answerHead reads the head of an answer that is as nearly all are: whole in the buffer, HTTP/1.1, with a Content-Length, each
// header on one line. It takes nothing from the buffer of any other answer, also not of a broken one: net/http reads those, and
// decides what is refused. It exists for its cost, since net/http makes a string of each line and a map of all headers.
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
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 || out.Method == http.MethodHead || out.Method == http.MethodConnect {
		return nil
	}
	head := text[:end+2]
	if !plainHead(head) {
		return nil
	}
	statusLine, rest := cutLine(head)
	status := statusOf(statusLine)
	if status == 0 {
		return nil
	}
	h.begin()
	for len(rest) > 0 {
		var line []byte
		if line, rest = cutLine(rest); !h.field(line, keep) {
			return nil
		}
	}
	if h.length < 0 {
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
	_, _ = in.Discard(end + 4) // it is in the buffer
	return &h.response
}

func (h *answerHead) begin() {
	if h.header == nil {
		h.header = make(http.Header)
	}
	clear(h.header)
	h.values, h.length = h.values[:0], -1
}

// plainHead reports whether a head has nothing but visible ASCII characters, blanks, tabs, and line ends of two characters.
func plainHead(text []byte) bool {
	for i, b := range text {
		if b >= ' ' && b < 0x7f || b == '\t' {
			continue
		}
		if b != '\r' && b != '\n' || b == '\r' && text[i+1] != '\n' || b == '\n' && (i == 0 || text[i-1] != '\r') {
			return false
		}
	}
	return true
}

// cutLine cuts a plain head behind its first line, of which it drops the end.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	return text[:end-1], text[end+1:]
}

// statusOf reads a status line with a status that has a body; 0: it is another line.
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

// field reads a header's line and reports whether it is one that needs no more than to be kept, or the only Content-Length.
func (h *answerHead) field(line []byte, keep []string) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !token(line[:colon]) {
		return false
	}
	name, value := line[:colon], trim(line[colon+1:])
	if !h.frame(name, value) {
		return false
	}
	if canonical := canonicalOf(name, keep); canonical != "" {
		return h.set(canonical, value)
	}
	return true
}

// frame looks at the headers that tell how an answer is framed, and reports whether this one leaves it in no doubt.
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

// trim removes blanks and tabs at both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n = len(text) {
		text = text[:n-1]
	}
	return text
}

// set keeps a header. A second value of a header is net/http's to join.
func (h *answerHead) set(name string, value []byte) bool {
	if _, twice := h.header[name]; twice {
		return false
	}
	n := len(h.values)
	h.values = append(h.values, intern(value))
	h.header[name] = h.values[n : n+1 : n+1]
	return true
}

// canonicalOf is the canonical form of a name that is kept; "" of another.
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

// token reports whether a name has nothing but letters, digits, dashes and underscores. The few other characters that a name may have are left to
// net/http.
func token(name []byte) bool {
	for _, b := range name {
		if lower := b | 0x20; (lower < 'a' || lower > 'z') && (b < '0' || b > '9') && b != '-' && b != '_' {
			return false
		}
	}
	return true
}

// is reports whether a name is this one, in any case.
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

// decimal reads a number of at most 18 digits; -1: it is none.
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

// Close does nothing: what is left is read, or the connection closed, by the exchange.
func (s *sized) Close() error { return nil }
