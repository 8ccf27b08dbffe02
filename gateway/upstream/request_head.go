package upstream

import (
	"net/http"
	"strconv"
	"strings"
)

// appendHead writes the request line and the header. A line end in a value becomes a blank, as in net/http, so that no value
// can begin another header. The names are the gateway's own. net/http itself would sort the headers and copy them once more.
func appendHead(head []byte, out *http.Request, header []Field, length int) []byte {
	head = append(head, out.Method...)
	head = append(head, ' ')
	head = append(head, strings.ReplaceAll(out.URL.RequestURI(), " ", "%20")...) // a client's query over HTTP/2 may have blanks
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, out.URL.Host...)
	head = append(head, "\r\n"...)
	if length > 0 || out.Method != http.MethodGet {
		head = append(head, "Content-Length: "...)
		head = strconv.AppendInt(head, int64(length), 10)
		head = append(head, "\r\n"...)
	}
	for i := range header {
		head = append(append(head, header[i].Name...), ": "...)
		head = append(appendLine(head, header[i].Value), "\r\n"...)
	}
	return append(head, "\r\n"...)
}

// appendLine appends a value with its line ends replaced.
func appendLine(head []byte, value string) []byte {
	head = append(head, value...)
	line := head[len(head)-len(value):]
	for i, b := range line {
		if b == '\r' || b == '\n' {
			line[i] = ' '
		}
	}
	return head
}
