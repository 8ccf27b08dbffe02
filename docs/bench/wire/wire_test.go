package wire

import (
	"bufio"
	"strings"
	"testing"
)

func TestMessages(t *testing.T) {
	const rest = "HTTP/1.1 204 No Content\r\n\r\n"
	for name, tt := range map[string]struct {
		message string
		want    Head
	}{
		"a request for a stream": {"POST /v1/a HTTP/1.1\r\nHost: b\r\ncontent-length: 3\r\nX-Service-SSE: enable\r\n\r\nabc",
			Head{Length: 3, Stream: true}},
		"a request for a task": {"POST /a HTTP/1.1\r\nX-SERVICE-ASYNC:enable\r\nContent-Length: 0\r\n\r\n", Head{Async: true}},
		"an answer":            {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nab", Head{Status: 200, Length: 2}},
		"an answer in chunks": {"HTTP/1.1 429 Too Many\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
			Head{Status: 429, Chunked: true}},
	} {
		t.Run(name, func(t *testing.T) {
			in := bufio.NewReader(strings.NewReader(tt.message + rest))
			got, err := ReadHead(in)
			got.Path = nil
			if err != nil || got.Get || got.Status != tt.want.Status || got.Length != tt.want.Length || got.Chunked != tt.want.Chunked ||
				got.Stream != tt.want.Stream || got.Async != tt.want.Async {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
			if err := SkipBody(in, got); err != nil {
				t.Fatal(err)
			}
			if next, err := ReadHead(in); err != nil || next.Status != 204 {
				t.Errorf("after the body comes %+v, %v", next, err)
			}
		})
	}
}

func TestRequestLine(t *testing.T) {
	got, err := ReadHead(bufio.NewReader(strings.NewReader("GET /api/v1/tasks/ended HTTP/1.1\r\n\r\n")))
	if err != nil || !got.Get || string(got.Path) != "/api/v1/tasks/ended" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, message := range []string{"", "nonsense\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "POST /a HTTP/1.1\r\nContent-Length: 2\r\n"} {
		if got, err := ReadHead(bufio.NewReader(strings.NewReader(message))); err == nil {
			t.Errorf("%q is read as %+v", message, got)
		}
	}
}
