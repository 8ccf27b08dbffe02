package upstream

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// InlineBody is the largest body that is written together with its header, by the goroutine that waits for the answer, in bytes.
	// Another goroutine may write a larger one until after the exchange.
	InlineBody = 64 << 10
	// longestHeader bounds an answer's header, in bytes.
	longestHeader = 64 << 10
	// mostInformational bounds the informational (1xx) answers before the answer.
	mostInformational = 100
	// keptHead is how much of its write buffer an idle connection keeps.
	keptHead = 16 << 10
	// readBuffer is how much a connection reads at once.
	readBuffer = 4 << 10
)

var (
	errLongHeader    = errors.New("the service's answer has a header over the bound")
	errInformational = errors.New("the service sent more informational answers than the bound")
)

// conn is a connection to the service, used by one exchange at a time. The goroutine that makes the request also writes
// and reads: net/http's Transport has two goroutines for each connection, and handing over to them costs more than the
// rest of the proxy's work. It counts what it writes, because a request may be sent again only if none of its bytes has left.
type conn struct {
	net.Conn // the wire, or TLS over it
	wire     *wire
	pool     *pool
	in       *bufio.Reader
	head     []byte       // the outgoing header, and a small body; reused
	written  atomic.Int64 // bytes of the current request
	sending  *sending     // of the current exchange; nil: its request was sent in one write
	body     *body        // the answer's body while it is read; nil while its header is read
	surplus  [1]byte      // for look to read into
	left     int64        // bytes that may still be read; unlimited inside bodies
	idle     time.Time    // in the pool: when bytes last arrived
	taken    time.Time    // when the current exchange began
}

// Write counts the bytes that it writes.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func (c *conn) Read(p []byte) (n int, err error) {
	if c.left <= 0 {
		return 0, errLongHeader
	}
	if c.body != nil {
		n, err = c.readBody(p)
	} else {
		// Let other requests run first. If the answer arrives meanwhile, the first attempt reads it.
		runtime.Gosched()
		if n, err = c.Conn.Read(p); err != nil && c.sending != nil {
			n, err = c.sending.explain(p, n, err)
		}
	}
	c.left -= int64(n)
	return n, err
}

func (c *conn) readBody(p []byte) (n int, err error) {
	c.wire.readBy = time.Time{}
	for began := c.body.arm(0); ; c.body.arm(time.Since(began)) {
		if n, err = c.Conn.Read(p); n > 0 || !isTimeout(err) || !c.body.pulse(time.Since(began)) {
			return n, err
		}
	}
}

// readNow reads what is available and does not wait.
func (c *conn) readNow(p []byte) (int, error) {
	c.wire.glance = true
	defer func() { c.wire.glance = false }()
	return c.Conn.Read(p)
}

// Why a connection cannot carry a request.
var (
	errEnded   = errors.New("the service closed an idle connection")
	errSurplus = errors.New("the service sent bytes on an idle connection")
)

// look returns why a connection cannot carry a request; nil: it can. Unrequested bytes would be read as the answer. They may be
// in the buffer, in TLS, or in the socket; reading through TLS also handles TLS's own messages. It costs one system call.
func (c *conn) look() error {
	if c.in.Buffered() > 0 {
		return errSurplus
	}
	n, err := c.readNow(c.surplus[:])
	switch {
	case n > 0, c.wire.partial():
		return errSurplus
	case err != errNothing:
		return errEnded
	}
	return nil
}

// send writes a request. A small one leaves in one write. The body of a large one is written while the answer is read, because
// the service may refuse it before it has read it all. bound is the time for the answer's header. If writing fails after a byte
// has left, send returns nil, and receive returns the answer if there is one, or the error.
func (c *conn) send(x *Exchange, out *http.Request, body *outgoing, bound time.Duration) (err error) {
	c.written.Store(0)
	c.sending, c.body = nil, nil
	c.head = appendHead(c.head[:0], out, body.size())
	large := body.size() > InlineBody
	if body != nil && !large {
		if c.head, err = body.appendTo(c.head); err != nil {
			return err
		}
	}
	_, err = c.Write(c.head)
	switch {
	case err != nil && c.written.Load() == 0:
		return err
	case err == nil && !large:
		return c.expect(bound)
	}
	c.sending = &sending{conn: c, bound: bound}
	return c.sending.begin(x, body, err)
}

// expect sets the deadline for an answer's header, unless the current one is only a little later.
func (c *conn) expect(bound time.Duration) error {
	latest := c.taken.Add(bound + bound/deadlineSlack)
	if c.wire.readBy.Sub(c.taken) >= bound && !c.wire.readBy.After(latest) {
		return nil
	}
	c.wire.readBy = latest
	return c.SetReadDeadline(latest)
}

// receive reads an answer's header. It drops informational answers.
func (c *conn) receive(x *Exchange, out *http.Request, keep []string) (*http.Response, error) {
	for range mostInformational + 1 {
		c.left = longestHeader
		if _, err := c.in.Peek(1); err != nil {
			return nil, unexpectedEOF(err)
		}
		answer := x.head.read(c.in, out, keep)
		if answer == nil {
			var err error
			if answer, err = readAnswer(c.in, out); err != nil {
				return nil, unexpectedEOF(err)
			}
		}
		if answer.StatusCode >= http.StatusOK || answer.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64
			if c.sending != nil {
				c.sending.answer()
			}
			return answer, nil
		}
	}
	return nil, errInformational
}

// readAnswer reads an answer with net/http. It returns a copy, because net/http sets the trailers in its own later.
func readAnswer(in *bufio.Reader, out *http.Request) (*http.Response, error) {
	read, err := http.ReadResponse(in, out)
	if err != nil {
		return nil, err
	}
	answer := *read
	answer.Trailer = nil
	return &answer, nil
}

// drop closes a connection that cannot be used again. When it returns, the request's body is no longer read.
func (c *conn) drop() {
	_ = c.Close()
	c.sending.await()
}

// unexpectedEOF turns the end of the connection before an answer into an error.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// finish ends an exchange. The connection is kept if request and answer are whole. silent is when bytes last arrived.
func (c *conn) finish(whole bool, silent time.Time) {
	if !whole || c.sending != nil && !c.sending.whole() {
		c.drop()
		return
	}
	if cap(c.head) > keptHead {
		c.head = nil
	}
	c.sending = nil
	c.pool.put(c, silent)
}
