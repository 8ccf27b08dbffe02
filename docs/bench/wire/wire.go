// Package wire reads HTTP/1.1 messages at little cost. The load and the service share a core, so time they spend on a message
// lowers the rate at which they drive a gateway. net/http does more per message than is needed here. It trusts both sides: all
// messages are from this benchmark's programs or through a proxy.
package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Head is a message's start line and headers.
type Head struct {
	Get     bool   // a request's method is GET
	Path    []byte // a request's path; valid until the next read
	Status  int    // an answer's status; 0 in a request
	Length  int    // the body's size in bytes; 0 if none is declared
	Chunked bool
	Stream  bool // the request asks for a stream by the service's header
	Async   bool // the request asks for a task
}

// ReadHead reads a message's head. Its error is the connection's.
func ReadHead(in *bufio.Reader) (h Head, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	parts := bytes.SplitN(line, []byte(" "), 3)
	if len(parts) < 2 {
		return h, errors.New("a message does not begin like one of HTTP")
	}
	if bytes.HasPrefix(line, []byte("HTTP/")) {
		h.Status, err = strconv.Atoi(string(bytes.TrimSpace(parts[1])))
	} else {
		h.Get, h.Path = bytes.Equal(parts[0], []byte("GET")), bytes.Clone(parts[1])
	}
	for err == nil {
		line, err = in.ReadSlice('\n')
		if len(line) <= 2 {
			return h, err
		}
		h.field(line)
	}
	return h, err
}

// field takes the relevant values from a header line.
func (h *Head) field(line []byte) {
	switch line[0] | 0x20 {
	case 'c':
		if value, ok := after(line, "content-length:"); ok {
			h.Length, _ = strconv.Atoi(string(value))
		}
	case 't':
		if value, ok := after(line, "transfer-encoding:"); ok {
			h.Chunked = bytes.EqualFold(value, []byte("chunked"))
		}
	case 'x':
		if value, ok := after(line, "x-service-sse:"); ok {
			h.Stream = bytes.EqualFold(value, []byte("enable"))
		} else if value, ok := after(line, "x-service-async:"); ok {
			h.Async = bytes.EqualFold(value, []byte("enable"))
		}
	}
}

func after(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// SkipBody reads the rest of a message and drops it.
func SkipBody(in *bufio.Reader, h Head) error {
	if !h.Chunked {
		_, err := in.Discard(h.Length)
		return err
	}
	for {
		size, err := SkipChunk(in)
		if size == 0 || err != nil {
			return err
		}
	}
}

// SkipChunk reads one chunk and drops it. Its size is 0 at the body's end.
func SkipChunk(in *bufio.Reader) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	digits, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
	size, err := strconv.ParseInt(string(digits), 16, 64)
	if err != nil || size < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	_, err = in.Discard(int(size) + 2)
	return int(size), err
}
