package upstream

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const usualHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id:\t7f3c \r\nX-Other_1: a: b\r\nConnection: " +
	"Keep-Alive\r\ncontent-length: 4\r\n\r\n"

// wholeAnswer is what can be seen of an answer.
type wholeAnswer struct {
	Status, Proto      string
	Code, Major, Minor int
	Header, Trailer    http.Header
	Length             int64
	Close              bool
	Encoding           []string
	Body, Rest         string
	Err                string
}

func readAll(in *bufio.Reader, r *http.Response) wholeAnswer {
	w := wholeAnswer{
		Status: r.Status, Proto: r.Proto, Code: r.StatusCode, Major: r.ProtoMajor, Minor: r.ProtoMinor, Header: r.Header, Length: r.ContentLength,
		Close: r.Close, Encoding: r.TransferEncoding,
	}
	body, err := io.ReadAll(r.Body)
	rest, _ := io.ReadAll(in)
	w.Body, w.Rest, w.Trailer = string(body), string(rest), r.Trailer
	if err != nil {
		w.Err = err.Error()
	}
	return w
}

func filled(text string) *bufio.Reader {
	in := bufio.NewReaderSize(strings.NewReader(text), readBuffer)
	_, _ = in.Peek(1)
	return in
}

// asNetHTTP checks that an answer which is read here is what net/http reads, and that nothing is taken of any other. It reports
// whether the answer is read here.
func asNetHTTP(t *testing.T, method, text string) bool {
	t.Helper()
	out := &http.Request{Method: method}
	in, theirs := filled(text), filled(text)
	before := in.Buffered()
	answer := new(answerHead).read(in, out, nil)
	if answer == nil {
		if in.Buffered() != before {
			t.Errorf("%d of %d bytes are left", in.Buffered(), before)
		}
		return false
	}
	want, err := http.ReadResponse(theirs, out)
	if err != nil {
		t.Fatalf("%q is read; net/http refuses it: %v", text, err)
	}
	defer func() { _ = want.Body.Close() }()
	if diff := cmp.Diff(readAll(theirs, want), readAll(in, answer)); diff != "" {
		t.Errorf("%q: net/http reads (-), this reads (+):\n%s", text, diff)
	}
	return true
}

func TestUsualHeadsAreRead(t *testing.T) {
	for _, text := range []string{
		usualHead + "body", usualHead + "bodyand more", usualHead + "bo",
		"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 599 \r\nEmpty:\r\nContent-Length: 000000000000000002\r\n\r\n{}",
	} {
		if !asNetHTTP(t, http.MethodPost, text) {
			t.Errorf("%q is left to net/http", text)
		}
	}
}

// Ambiguous heads, and those that net/http refuses, are left to net/http.
func TestUnusualHeadsAreLeft(t *testing.T) {
	with := func(field string) string {
		return "HTTP/1.1 200 OK\r\n" + field + "\r\nContent-Length: 4\r\n\r\nbody"
	}
	for _, text := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", "HTTP/1.1 200 OK\r\n\r\nbody",
		"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1  200 OK\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody",
		"HTTP/1.1 200 OK\nContent-Length: 4\n\nbody", "HTTP/1.1 200 O\x00K\r\nContent-Length: 4\r\n\r\nbody",
		with("Transfer-Encoding: chunked"), with("transfer-encoding: identity"), with("Content-Length: 4"), with("Content-Length: 5"),
		with("Content-Length : 4"), with("Connection: close"), with("Connection: keep-alive, close"), with("Trailer: X"),
		with("Pragma: no-cache"),
		with("A: b\r\n c"), with(" A: b"), with("A: b\nC: d"), with("A: b\rC: d"), with("A: b\x00c"), with("A: b\x7f"), with("A: \xe4"),
		with("A b: c"), with(": c"), with("A"), with("A\x00: b"), with("\xe4: b"), with("X-A: 1\r\nx-a: 2"),
		"HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nbody", "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nbody", "HTTP/1.1 200 OK\r\nContent-Length: 0x4\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\x00\r\n\r\nbody",
		"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\nbody", with("A: " + strings.Repeat("x", readBuffer)),
	} {
		if asNetHTTP(t, http.MethodPost, text) {
			t.Errorf("%q is read", text)
		}
	}
	if asNetHTTP(t, http.MethodHead, usualHead+"body") {
		t.Error("the answer to HEAD is read, which has no body")
	}
}

func TestHeadersThatAreNotNeededAreDropped(t *testing.T) {
	h, keep := new(answerHead), []string{"Content-Type", "X-Request-Id"}
	for range 2 { // the second answer has nothing of the first
		answer := h.read(filled(usualHead), &http.Request{Method: http.MethodPost}, keep)
		if answer == nil {
			t.Fatal("the head is left to net/http")
		}
		if diff := cmp.Diff(http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"7f3c"}}, answer.Header); diff != "" {
			t.Error(diff)
		}
	}
	if answer := h.read(filled("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"), &http.Request{}, keep); len(answer.Header) > 0 {
		t.Errorf("got %v of the answer before", answer.Header)
	}
}

// A line is plain if each of its characters is, at every position.
func TestPlainLines(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for b := range 256 {
				line := []byte(strings.Repeat("a", length))
				line[at] = byte(b)
				if got, want := plain(line), b == '\t' || b >= ' ' && b < 0x7f; got != want {
					t.Fatalf("%q is plain: %v, want %v", line, got, want)
				}
			}
		}
	}
}

func FuzzAnswerHead(f *testing.F) {
	for _, text := range []string{usualHead + "body", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 206 \r\nA:b\r\nContent-Length: 0\r\n\r\nrest"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { asNetHTTP(t, http.MethodPost, text) })
}

func BenchmarkAnswerHead(b *testing.B) {
	const text = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: application/json\r\nDate: Sun, 22 Nov 2026 15:00:00 " +
		"GMT\r\nServer: istio-envoy\r\nVary: Origin\r\nX-Request-Id: 7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0\r\nReq-Cost-Time: 812\r\n\r\n"
	from, out := strings.NewReader(text), &http.Request{Method: http.MethodPost}
	in, h, keep := bufio.NewReaderSize(from, readBuffer), new(answerHead),
		[]string{"Content-Type", "Content-Encoding", "Retry-After", "X-Request-Id"}
	fill := func() {
		from.Reset(text)
		in.Reset(from)
		_, _ = in.Peek(1)
	}
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fill()
			h.read(in, out, keep)
		}
	})
	b.Run("net/http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fill()
			if _, err := http.ReadResponse(in, out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
