package upstream

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// largePiece is how much of a large body is written between two calls of the Listener.
const largePiece = 1 << 20

// past is a deadline that ends a read immediately.
var past = time.Unix(1, 0)

// sending is the writing of a large body during the wait for its answer. Until the answer's header is there it sets the read
// deadline: none while the service takes the body, because the wire bounds its silence; the time for the header once the body
// is written; and the past if writing fails, so that nothing waits.
type sending struct {
	conn  *conn
	bound time.Duration // for the answer's header, from the body's last byte

	mu       sync.Mutex
	ended    bool
	fault    error // why writing failed
	answered bool  // the answer's header is there

	writing sync.WaitGroup
}

// begin starts to write the body, unless writing the header has failed already.
func (s *sending) begin(x *Exchange, body *outgoing, fault error) error {
	s.conn.wire.readBy = time.Time{}
	if fault != nil {
		body.close()
		s.end(fault)
		return nil
	}
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	s.writing.Go(func() { s.end(body.writeTo(&portions{s.conn, x.Listener, body.length})) })
	return nil
}

// portions writes a large body, and calls the listener before each piece. It writes no more than the announced length: the service
// would read more bytes as another request.
type portions struct {
	conn     *conn
	listener Listener
	left     int64
}

func (w *portions) Write(p []byte) (n int, err error) {
	allowed := p[:min(int64(len(p)), w.left)]
	for piece := range slices.Chunk(allowed, largePiece) {
		w.listener.Runs(w.conn.wire.now())
		wrote, err := w.conn.Write(piece)
		if n += wrote; err != nil {
			return n, err
		}
	}
	if w.left -= int64(n); n < len(p) {
		return n, errLength
	}
	return n, nil
}

func (s *sending) end(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.fault = true, fault
	switch {
	case s.answered: // the answer's body sets the deadline
	case fault != nil:
		_ = s.conn.SetReadDeadline(past) // a connection that is closed fails at the read
	default:
		_ = s.conn.SetReadDeadline(s.conn.wire.now().Add(s.bound))
	}
}

// answer leaves the read deadline to the answer's body.
func (s *sending) answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = true
}

// whole reports whether the whole body was written.
func (s *sending) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && s.fault == nil
}

// await waits until the body is no longer read. The connection is closed, or the body is written.
func (s *sending) await() {
	if s != nil {
		s.writing.Wait()
	}
}

// explain is called when reading the answer's header fails. If the cause is that writing failed, it reads what the service sent
// before, which may be a refusal of the body, and then returns why writing failed.
func (s *sending) explain(p []byte, n int, err error) (int, error) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil || n > 0 || !isTimeout(err) {
		return n, err
	}
	if n, err = s.conn.readNow(p); err == errNothing {
		err = fault
	}
	return n, err
}

var (
	errOtherHost = errors.New("the request is for another host than the service")
	errNoLength  = errors.New("the request's body has no length")
	errLength    = errors.New("the request's body has another length than announced")
)

// outgoing is the body of a request. It is closed once, when it is no longer read.
type outgoing struct {
	io.ReadCloser
	length int64 // -1: unknown
	read   bool  // reading has begun
	closed bool
}

// bodyOf is a request's body; nil: it has none.
func bodyOf(out *http.Request) *outgoing {
	if out.Body == nil || out.Body == http.NoBody {
		return nil
	}
	length := out.ContentLength
	if length == 0 { // the zero value of a request with a body
		length = -1
	}
	return &outgoing{ReadCloser: out.Body, length: length}
}

// size is how long the body is, in bytes.
func (b *outgoing) size() int64 {
	if b == nil {
		return 0
	}
	return b.length
}

func (b *outgoing) close() {
	if b != nil && !b.closed {
		b.closed = true
		_ = b.Close()
	}
}

// again is the body for another attempt after the one that failed with why. If there is no such body, it returns why.
func (b *outgoing) again(out *http.Request, why error) (*outgoing, error) {
	if b == nil || !b.read {
		return b, nil
	}
	if out.GetBody == nil || errors.Is(why, errLength) {
		return b, why
	}
	fresh, err := out.GetBody()
	if err != nil {
		return b, why
	}
	b.close()
	return &outgoing{ReadCloser: fresh, length: b.length}, nil
}

// appendTo appends the whole body.
func (b *outgoing) appendTo(to []byte) ([]byte, error) {
	b.read = true
	at := len(to)
	to = slices.Grow(to, int(b.length))[:at+int(b.length)]
	if _, err := io.ReadFull(b, to[at:]); err != nil {
		return to[:at], errors.Join(errLength, err)
	}
	b.close()
	return to, nil
}

// writeTo writes the whole body, and closes it. A body in memory is not copied.
func (b *outgoing) writeTo(w io.Writer) error {
	b.read = true
	defer b.close()
	n, err := io.Copy(w, b.ReadCloser)
	if err == nil && n != b.length {
		err = errLength
	}
	return err
}

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

// sorted returns the names of the headers to write. The gateway itself writes those of the connection and of the body's length.
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
