//go:build unix

package upstream

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// peer is the other end of a connection to upstream. Its writes are kept back until it is flushed, so that pieces leave
// together, or in part.
type peer struct {
	*net.TCPConn
	testing.TB
	says io.Writer // TLS over it, or itself
	kept bytes.Buffer
	open bool // nothing is kept back
}

func (p *peer) Write(b []byte) (int, error) {
	if p.open {
		return p.TCPConn.Write(b)
	}
	return p.kept.Write(b)
}

// say keeps text for the flush.
func (p *peer) say(words string) {
	if _, err := io.WriteString(p.says, words); err != nil {
		p.Fatal(err)
	}
}

// flush sends all kept bytes but the last ones.
func (p *peer) flush(but int) {
	if _, err := p.TCPConn.Write(p.kept.Next(p.kept.Len() - but)); err != nil {
		p.Fatal(err)
	}
}

// farewell is TLS's last record.
func (p *peer) farewell() {
	if secure, ok := p.says.(*tls.Conn); ok {
		_ = secure.CloseWrite()
		_ = p.SetWriteDeadline(time.Time{}) // CloseWrite has ended it
	}
	p.flush(0)
}

// connected makes a connection and its other end, in a version of TLS; 0: plain.
func connected(t *testing.T, version uint16) (*conn, *peer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p := &pool{network: "tcp", address: l.Addr().String(), config: &Config{Now: time.Now, IdleTimeout: time.Minute},
		dialer: net.Dialer{Timeout: time.Minute}}
	far := &peer{TB: t, open: true}
	if version != 0 {
		server := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
		server.Close()
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		p.secure = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: version, MaxVersion: version,
			ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		// A server that requires a certificate sends its session ticket after the handshake.
		far.says = tls.Server(far, &tls.Config{Certificates: server.TLS.Certificates, MinVersion: version, ClientAuth: tls.RequestClientCert})
	} else {
		far.says = far
	}
	ready := make(chan error, 1)
	go func() {
		socket, err := l.Accept()
		if err == nil {
			far.TCPConn = socket.(*net.TCPConn)
			if secure, ok := far.says.(*tls.Conn); ok {
				err = secure.Handshake()
			}
		}
		ready <- err
	}()
	c, err := p.connect(t.Context())
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = far.TCPConn.Close() })
	c.in, far.open, c.left = bufio.NewReaderSize(c, readBuffer), false, math.MaxInt64
	return c, far
}

// arrived waits until the socket has bytes or the end to read.
func arrived(t *testing.T, c *conn) {
	t.Helper()
	err := c.wire.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hears reads n bytes as the connection's exchange would.
func hears(t *testing.T, c *conn, n int) {
	t.Helper()
	if _, err := io.ReadFull(c.Conn, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

// A check finds whatever upstream has sent, wherever it is buffered, distinguishes it from a connection that has ended, and does
// not mistake TLS's own records for more.
func TestLookFindsWhatWaits(t *testing.T) {
	const plain = 0
	all, secure := []uint16{plain, tls.VersionTLS12, tls.VersionTLS13}, []uint16{tls.VersionTLS12, tls.VersionTLS13}
	for name, tt := range map[string]struct {
		versions []uint16
		does     func(*conn, *peer)
		want     error
	}{
		"silent":            {all, func(*conn, *peer) {}, nil},
		"in the socket":     {all, func(c *conn, p *peer) { p.say("a"); p.flush(0); arrived(t, c) }, errSurplus},
		"in our own buffer": {all, func(c *conn, p *peer) { p.say("ab"); p.flush(0); _, _ = c.in.ReadByte() }, errSurplus},
		"decrypted":         {secure, func(c *conn, p *peer) { p.say("ab"); p.flush(0); hears(t, c, 1) }, errSurplus},
		"not decrypted yet": {secure, func(c *conn, p *peer) { p.say("a"); p.say("b"); p.flush(0); hears(t, c, 1) }, errSurplus},
		"part of a record":  {secure, func(c *conn, p *peer) { p.say("a"); p.flush(2); arrived(t, c) }, errSurplus},
		"part of a second":  {secure, func(c *conn, p *peer) { p.say("a"); p.say("b"); p.flush(2); hears(t, c, 1) }, errSurplus},
		"ended":             {all, func(c *conn, p *peer) { _ = p.TCPConn.Close(); arrived(t, c) }, errEnded},
		"said farewell":     {secure, func(c *conn, p *peer) { p.farewell(); arrived(t, c) }, errEnded},
		"reset":             {all, func(c *conn, p *peer) { _ = p.SetLinger(0); _ = p.TCPConn.Close(); arrived(t, c) }, errEnded},
		"surplus, then end": {all, func(c *conn, p *peer) { p.say("a"); p.farewell(); _ = p.TCPConn.Close(); arrived(t, c) }, errSurplus},
	} {
		for _, version := range tt.versions {
			c, far := connected(t, version)
			if version == tls.VersionTLS13 { // a session ticket has arrived, which is not an answer
				arrived(t, c)
				if err := c.look(); err != nil {
					t.Errorf("%s: a session ticket is taken for %v", name, err)
				}
			}
			tt.does(c, far)
			if got := c.look(); got != tt.want {
				t.Errorf("%s, %s: %v, want %v", name, tls.VersionName(version), got, tt.want)
			}
			if tt.want == nil { // it is unchanged, and can be read
				far.say("a")
				far.flush(0)
				hears(t, c, 1)
			}
		}
	}
}

// full writes until upstream accepts no more, and returns how much it accepted.
func full(t *testing.T, c *conn) (took int) {
	t.Helper()
	for {
		n, err := c.Write(make([]byte, 16<<10))
		if took += n; isTimeout(err) {
			return took
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A socket keeps few bytes that upstream does not read. A socket with the system's defaults keeps megabytes, which hides
// slow reading.
func TestSlowReadingIsSeen(t *testing.T) {
	if notSentLowat == 0 {
		t.Skip("this system cannot be told")
	}
	took := map[bool]int{}
	for _, ours := range []bool{true, false} {
		c, _ := connected(t, 0)
		c.wire.silence = 50 * time.Millisecond
		if !ours {
			err := c.wire.raw.Control(func(fd uintptr) {
				if err := syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSentLowat, -1); err != nil { // the default: no bound
					t.Error(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		took[ours] = full(t, c)
	}
	if took[true] > took[false]/2 {
		t.Errorf("upstream reads nothing, and %d bytes are taken; %d without the bound", took[true], took[false])
	}
}

// Closing a connection waits for nothing, even if TLS has a farewell to send and upstream does not read.
func TestClosingDoesNotWait(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, _ := connected(t, version)
		c.wire.silence, c.wire.writeBy = 50*time.Millisecond, time.Time{} // that of the handshake
		full(t, c)
		c.wire.silence = time.Hour
		closed := make(chan struct{})
		go func() { _ = c.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(4 * time.Second): // TLS itself would wait for 5
			t.Errorf("%s: it waits", tls.VersionName(version))
			<-closed
		}
	}
}

// over reports whether the writing has ended, well or not.
func over(s *sending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Bytes that upstream sent before a write failed are the answer, even if the request is small enough for one write.
func TestAnswerBeforeAFailedWriteCounts(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		for _, size := range []int{InlineBody, 1 << 20} {
			c, far := connected(t, version)
			c.wire.silence, c.wire.writeBy = 50*time.Millisecond, time.Time{} // that of the handshake
			for _, err := range []error{c.wire.SetWriteBuffer(4 << 10), far.SetReadBuffer(4 << 10)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			far.say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			far.flush(0)
			arrived(t, c)
			out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/", bytes.NewReader(make([]byte, size)))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.send(&Exchange{Listener: noListener{}}, out, bodyOf(out), time.Hour); err != nil {
				t.Fatal(err)
			}
			answer, err := c.receive(new(Exchange), out, nil)
			if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %d bytes: %v, %v", tls.VersionName(version), size, answer, err)
			}
			// The header is here: later reads have their own deadlines, and the end of the writing does not change them.
			if err := c.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			for !over(c.sending) {
				time.Sleep(time.Millisecond)
			}
			far.say("a")
			far.flush(0)
			hears(t, c, 1)
			if c.finish(true, time.Now()); len(c.pool.idle) != 0 {
				t.Errorf("%s, %d bytes: a connection on which a body was cut is used again", tls.VersionName(version), size)
			}
		}
	}
}
