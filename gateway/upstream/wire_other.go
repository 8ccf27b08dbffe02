//go:build !unix

package upstream

import (
	"net"
	"time"
)

// writePiece is how much is written under one deadline.
const writePiece = 16 << 10

// glanceTime is how long a glance waits: here a socket cannot be read without waiting.
const glanceTime = time.Millisecond

type moves struct{}

func (w *wire) prepare() {}

func (w *wire) writeSome(p []byte) (int, error) { return w.TCPConn.Write(p[:min(len(p), writePiece)]) }

func (w *wire) readNow(p []byte) (int, error) {
	w.readBy = time.Time{}
	if err := w.SetReadDeadline(time.Now().Add(glanceTime)); err != nil {
		return 0, err
	}
	n, err := w.TCPConn.Read(p)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return n, errNothing
	}
	return n, err
}
