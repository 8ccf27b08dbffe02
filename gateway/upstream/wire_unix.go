//go:build unix

package upstream

import (
	"io"
	"runtime"
	"syscall"
)

// unsent is how many unsent bytes the socket may hold before it takes no more. By default a socket takes megabytes at once,
// which hides that the service reads slowly.
const unsent = 128 << 10

// notSentLowat is TCP_NOTSENT_LOWAT, which package syscall has no name for.
var notSentLowat = map[string]int{"linux": 0x19, "darwin": 0x201}[runtime.GOOS]

// moves are the socket's system calls. The functions are made once, so that a call allocates nothing. One goroutine reads and
// one writes.
type moves struct {
	read    func(fd uintptr)
	write   func(fd uintptr) bool
	in, out move
}

// move is one system call: its buffer and its result.
type move struct {
	p   []byte
	n   int
	err error
}

func (m *move) make(call func(int, []byte) (int, error), fd uintptr) {
	for {
		if m.n, m.err = call(int(fd), m.p); m.err != syscall.EINTR {
			m.n = max(m.n, 0)
			return
		}
	}
}

func (w *wire) prepare() {
	m := &w.moves
	m.read = func(fd uintptr) { m.in.make(syscall.Read, fd) }
	m.write = func(fd uintptr) bool {
		m.out.make(syscall.Write, fd)
		return w.leaving || m.out.err != syscall.EAGAIN // else it is called again once the socket takes more
	}
	if notSentLowat != 0 {
		_ = w.raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, notSentLowat, unsent) // if it fails, slow reading is noticed later
		})
	}
}

// writeSome waits until the service takes bytes, and returns how many.
func (w *wire) writeSome(p []byte) (int, error) {
	w.moves.out = move{p: p}
	err := w.raw.Write(w.moves.write)
	made := w.moves.out
	w.moves.out = move{}
	if err != nil {
		return made.n, err
	}
	return made.n, made.err
}

// readNow reads what is available and does not wait.
func (w *wire) readNow(p []byte) (int, error) {
	w.moves.in = move{p: p}
	// Control, not Read: Read would fail on the deadline that the previous exchange left.
	err := w.raw.Control(w.moves.read)
	made := w.moves.in
	w.moves.in = move{}
	switch {
	case err != nil:
		return 0, err
	case made.err == syscall.EAGAIN:
		return 0, errNothing
	case made.n == 0 && made.err == nil:
		return 0, io.EOF
	}
	return made.n, made.err
}
