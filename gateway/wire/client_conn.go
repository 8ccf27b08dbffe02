package wire

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"time"
)

// clientConn is a client's connection. For each request net/http and the gateway set a dozen deadlines, and nearly all of them are
// replaced before anything waits for them. A clientConn notes them. It sets the socket's own when a read or a write begins, unless
// the one in force is early enough. If that one then ends the read or write before its time, it goes on with the right one.
type clientConn struct {
	net.Conn
	read, write deadline
}

// clientListener accepts clientConns.
type clientListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l clientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newClientConn(conn), nil
}

func newClientConn(conn net.Conn) *clientConn {
	return &clientConn{Conn: conn, read: deadline{set: conn.SetReadDeadline}, write: deadline{set: conn.SetWriteDeadline}}
}

// Read lets other requests run first, if there are any: the client's next bytes may arrive meanwhile, and are then read at the
// first attempt. net/http also reads during each request, to notice that the client leaves, and many requests end before that
// begins.
func (c *clientConn) Read(p []byte) (int, error) {
	if c.read.isPast() {
		return 0, errPast
	}
	runtime.Gosched()
	for {
		if c.read.isPast() {
			return 0, errPast
		}
		if err := c.read.begin(); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if early := c.read.end(err); n > 0 || !early {
			return n, err
		}
	}
}

// Write continues after a deadline that is no longer wanted.
func (c *clientConn) Write(p []byte) (written int, err error) {
	for {
		if err := c.write.begin(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if !c.write.end(err) {
			return written, err
		}
	}
}

// SetDeadline implements [net.Conn].
func (c *clientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.read.change(t), c.write.change(t))
}

// SetReadDeadline implements [net.Conn].
func (c *clientConn) SetReadDeadline(t time.Time) error { return c.read.change(t) }

// SetWriteDeadline implements [net.Conn].
func (c *clientConn) SetWriteDeadline(t time.Time) error { return c.write.change(t) }

// NetConn returns the connection below, as [tls.Conn] does.
func (c *clientConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the sending side. net/http does that before it closes the connection of a client that is still sending.
func (c *clientConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// deadline is the deadline of a connection's reads, or of its writes.
type deadline struct {
	set func(time.Time) error // sets the socket's

	mu      sync.Mutex
	wanted  time.Time // zero: none
	inForce time.Time // the socket's, no later than wanted while anything waits; zero: none
	waiting int       // reads, or writes, that go on
}

// errPast is the error of a read that may not wait.
var errPast net.Error = past{}

type past struct{}

func (past) Error() string   { return "the deadline has passed" }
func (past) Timeout() bool   { return true }
func (past) Temporary() bool { return true }

// longAgo is before every deadline except those that end reads and writes immediately.
var longAgo = time.Unix(1<<30, 0)

// isPast reports whether nothing may wait.
func (d *deadline) isPast() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.wanted.IsZero() && d.wanted.Before(longAgo)
}

// change notes a deadline. It also applies to a read or write that already waits, even if it is earlier than the last one.
func (d *deadline) change(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if d.waiting > 0 && d.late() {
		return d.enforce()
	}
	return nil
}

// begin is called before a read or write.
func (d *deadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late() || !d.inForce.IsZero() && d.inForce.Before(longAgo) {
		if err := d.enforce(); err != nil {
			return err
		}
	}
	d.waiting++
	return nil
}

// end is called after a read or write, and reports whether a deadline ended it too early.
func (d *deadline) end(err error) (early bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting--
	if err == nil || !d.wanted.IsZero() && !d.wanted.After(d.inForce) || !IsTimeout(err) { // the last takes most, and stack
		return false
	}
	return d.enforce() == nil
}

// late reports whether the deadline in force is later than the wanted one.
func (d *deadline) late() bool {
	return !d.wanted.IsZero() && (d.inForce.IsZero() || d.wanted.Before(d.inForce))
}

func (d *deadline) enforce() error {
	d.inForce = d.wanted
	return d.set(d.wanted)
}

// IsTimeout reports whether a read or write ended because its time had passed.
func IsTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
