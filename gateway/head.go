package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
)

var headBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// appendHead writes the request line and the header. Values are written by net/http, which puts a blank in the place
// of a line end, so that no value can begin a header of its own.
func appendHead(head []byte, out *http.Request, length int) []byte {
	head = append(head, out.Method...)
	head = append(head, ' ')
	head = append(head, out.URL.RequestURI()...)
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, out.URL.Host...)
	head = append(head, "\r\n"...)
	if length > 0 || out.Method != http.MethodGet {
		head = append(head, "Content-Length: "...)
		head = strconv.AppendInt(head, int64(length), 10)
		head = append(head, "\r\n"...)
	}
	b := headBuffers.Get().(*bytes.Buffer)
	defer headBuffers.Put(b)
	b.Reset()
	_ = out.Header.Write(b) // a buffer takes everything
	head = append(head, b.Bytes()...)
	return append(head, "\r\n"...)
}
