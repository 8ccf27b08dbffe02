package upstream

import (
	"net"
	"syscall"
	"time"
)

// deadlineSlack is the part of its bound by which a deadline may be late: one that is set so much later serves what
// follows, too.
const deadlineSlack = 64

// wire is the socket of a connection to upstream, below TLS. It does what net.Conn does not: it bounds the silence in which
// upstream takes no byte, however long the whole takes, and it can be read without waiting.
type wire struct {
	*net.TCPConn
	raw     syscall.RawConn
	now     func() time.Time
	silence time.Duration // the longest that upstream may take no byte
	writeBy time.Time     // the deadline in force for writing
	readBy  time.Time     // and for reading an answer's header; zero: another one
	leaving bool          // TLS says its farewell, for which nothing waits
	glance  bool          // reading takes what is here and does not wait
	records *records      // nil: without TLS
	moves   moves
}

// errNothing is what a glance says where there is nothing to read. It is a timeout, after which TLS can be read again.
var errNothing net.Error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "there is nothing to read" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

func newWire(socket *net.TCPConn, p *pool) (*wire, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &wire{TCPConn: socket, raw: raw, now: p.now, silence: p.silence}
	if p.secure != nil {
		w.records = new(records)
	}
	w.prepare()
	return w, nil
}

// Write gives each piece that upstream takes a deadline of its own. One for the whole would bound its size.
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

// SetWriteDeadline is called by TLS alone, before its farewell. Whoever closes a connection may hold up others, so where
// upstream does not read there is none.
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

// partial reports whether a part of a record of TLS has come, which TLS keeps to itself.
func (w *wire) partial() bool { return w.records != nil && w.records.have > 0 }

// records follows the records of TLS as they come by, to know whether the bytes so far end with one.
type records struct {
	head [5]byte // of the record that comes: type, version, length
	have int     // how much of its head has come; 0: the one before is whole
	left int     // how much of it is still to come, once its head is here
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
