package upstream

import (
	"net"
	"syscall"
	"time"
)

// deadlineSlack is the part of its bound by which a deadline may be late. A deadline that is set this much later serves the
// next reads and writes too.
const deadlineSlack = 64

// wire is the socket of a connection to the service, below TLS. It adds two things to net.Conn: it bounds the time in which
// the service takes no byte, however long the whole write takes, and it can read without waiting.
type wire struct {
	*net.TCPConn
	raw     syscall.RawConn
	now     func() time.Time
	silence time.Duration // the longest time in which the service may take no byte
	writeBy time.Time     // the write deadline in force
	readBy  time.Time     // the read deadline in force if it is for an answer's header; else zero
	leaving bool          // TLS writes its close_notify, which nothing waits for
	glance  bool          // reads take what is available and do not wait
	records *records      // nil: without TLS
	moves   moves
}

// errNothing is the error of a glance with nothing to read. It is a timeout, because TLS can be read again after a timeout.
var errNothing net.Error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "there is nothing to read" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

// newWire wraps a socket. Its records are set before TLS runs over it.
func newWire(socket *net.TCPConn) (*wire, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &wire{TCPConn: socket, raw: raw}
	w.prepare()
	return w, nil
}

// Write sets a new deadline for each piece that the service takes. One deadline for the whole would bound its size.
func (w *wire) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if err = w.extend(); err == nil {
			var taken int
			taken, err = w.writeSome(p[n:])
			n += taken
		}
	}
	return n, err
}

func (w *wire) extend() error {
	now := w.now()
	if w.leaving || w.writeBy.Sub(now) >= w.silence {
		return nil
	}
	w.writeBy = now.Add(w.silence + w.silence/deadlineSlack)
	return w.TCPConn.SetWriteDeadline(w.writeBy)
}

// SetWriteDeadline is called only by TLS, before its close_notify. Closing must not wait, so a service that does not read gets
// none.
func (w *wire) SetWriteDeadline(t time.Time) error {
	w.leaving = true
	return w.TCPConn.SetWriteDeadline(t)
}

func (w *wire) Read(p []byte) (n int, err error) {
	if w.glance {
		n, err = w.readNow(p)
	} else {
		n, err = w.TCPConn.Read(p)
	}
	if w.records != nil {
		w.records.follow(p[:n])
	}
	return n, err
}

// partial reports whether only a part of a TLS record has arrived; TLS does not pass it on.
func (w *wire) partial() bool { return w.records != nil && w.records.have > 0 }

// records follows TLS records, to know whether the bytes so far end with a whole one.
type records struct {
	head [5]byte // of the current record: type, version, length
	have int     // bytes of its head so far; 0: the record before is whole
	left int     // bytes still to come, once its head is here
}

func (r *records) follow(p []byte) {
	for len(p) > 0 {
		if r.have < len(r.head) {
			n := copy(r.head[r.have:], p)
			r.have, p = r.have+n, p[n:]
			r.left = int(r.head[3])<<8 | int(r.head[4])
		}
		if r.have == len(r.head) {
			n := min(r.left, len(p))
			if r.left, p = r.left-n, p[n:]; r.left == 0 {
				r.have = 0
			}
		}
	}
}
