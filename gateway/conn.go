package gateway

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// inlineBody is the largest body that is written together with its header, by the goroutine that waits for the answer.
	inlineBody = 64 << 10
	// longestHeader bounds an answer's header in bytes.
	longestHeader = 64 << 10
	// keptHead is how much of the room for header and small body a connection keeps while it waits.
	keptHead = 16 << 10
	// readBuffer is what a connection reads at once.
	readBuffer = 8 << 10
	// deadlineSlack is the part of its bound by which a deadline may be late: one that is set so much later serves the
	// exchanges that follow, too.
	deadlineSlack = 64
)

var errLongHeader = errors.New("upstream's answer has a header over the bound")

// conn is a connection to upstream, used by one exchange at a time. The goroutine that makes the request also writes
// and reads: net/http's Transport has two goroutines for each connection, and handing over to them costs more than the
// rest of the proxy's work. It counts what it writes, which answers the one question on which re-sending hangs: has a
// byte of this request left?
type conn struct {
	net.Conn
	pool    *pool
	raw     syscall.RawConn // below TLS, to look whether upstream has closed
	in      *bufio.Reader
	head    []byte       // the outgoing header, with the body where it is small; reused
	written atomic.Int64 // bytes of the request that runs
	busy    atomic.Bool  // a large body is still being written
	body    *answerBody  // whose bytes are read; nil while a header is
	left    int64        // bytes that may still be read; math.MaxInt64 inside bodies
	idle    time.Time    // since when upstream is silent on it, while it waits in the pool
	taken   time.Time    // when the exchange that runs began
	readBy  time.Time    // the deadline in force for reading a header; zero: another one
	writeBy time.Time    // and for writing
}

// Write counts. A write that upstream does not take for the bound of silence fails.
func (c *conn) Write(p []byte) (int, error) {
	if bound := c.pool.stall; c.writeBy.Sub(c.taken) < bound {
		c.writeBy = c.taken.Add(bound + bound/deadlineSlack)
		if err := c.SetWriteDeadline(c.writeBy); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongHeader
	}
	if c.body != nil {
		c.readBy = time.Time{}
		c.body.arm()
	}
	n, err := c.Conn.Read(p)
	c.left -= int64(n)
	return n, err
}

// send writes a request. A small one leaves in one write; the body of a large one is written beside the reading of the
// answer, because upstream may refuse it before it has read it all.
func (c *conn) send(out *http.Request, body []byte) error {
	c.written.Store(0)
	c.head = appendHead(c.head[:0], out, len(body))
	if len(body) <= inlineBody {
		c.head = append(c.head, body...)
		_, err := c.Write(c.head)
		return err
	}
	if _, err := c.Write(c.head); err != nil {
		return err
	}
	c.busy.Store(true)
	go func() {
		if _, err := c.Write(body); err == nil {
			c.busy.Store(false) // after an error it stays busy and is not used again; the reading side explains it
		}
	}()
	return nil
}

// receive reads an answer's header. Upstream's informational answers are dropped, however many they are, within the
// one bound in time.
func (c *conn) receive(out *http.Request, bound time.Duration) (*http.Response, error) {
	c.body = nil
	latest := c.taken.Add(bound + bound/deadlineSlack)
	if c.readBy.Sub(c.taken) < bound || c.readBy.After(latest) {
		c.readBy = latest
		if err := c.SetReadDeadline(latest); err != nil {
			return nil, err
		}
	}
	for {
		c.left = longestHeader
		answer, err := http.ReadResponse(c.in, out)
		if err != nil {
			return nil, unexpectedEOF(err)
		}
		if answer.StatusCode >= http.StatusOK || answer.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64
			return answer, nil
		}
	}
}

// unexpectedEOF tells an answer that did not come from one that ended.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// finish ends an exchange: the connection waits for the next one if both sides are at the end of theirs. silent is when
// upstream's last bytes came.
func (c *conn) finish(whole bool, silent time.Time) {
	if whole && !c.busy.Load() && c.in.Buffered() == 0 {
		if cap(c.head) > keptHead {
			c.head = nil
		}
		c.pool.put(c, silent)
		return
	}
	_ = c.Close() // nothing more is to be said on it
}
