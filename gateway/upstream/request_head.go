package upstream

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// appendHead writes the request line and the header. A line end in a value becomes a blank, as in net/http, so that no value
// can begin another header. Names are sorted.
func appendHead(head []byte, out *http.Request, length int64) []byte {
	head = append(head, out.Method...)
	head = append(head, ' ')
	head = append(head, strings.ReplaceAll(out.URL.RequestURI(), " ", "%20")...) // a client's query over HTTP/2 may have blanks
	head = append(head, " HTTP/1.1\r\nHost: "...)
	host := out.Host
	if host == "" {
		host = out.URL.Host
	}
	head = append(head, host...)
	head = append(head, "\r\n"...)
	if length > 0 || out.Method != http.MethodGet {
		head = append(head, "Content-Length: "...)
		head = strconv.AppendInt(head, length, 10)
		head = append(head, "\r\n"...)
	}
	for _, name := range sorted(out.Header) {
		for _, value := range out.Header[name] {
			head = append(append(head, name...), ": "...)
			head = append(appendLine(head, value), "\r\n"...)
		}
	}
	return append(head, "\r\n"...)
}

// sorted are the names of the headers to write. Those of the connection and of the body's length are written by the gateway itself.
func sorted(header http.Header) []string {
	names := make([]string, 0, len(header))
	for name := range header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Connection":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
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
