//go:build unix

package gateway

import "syscall"

// alive reports whether a connection that waited can carry a request. Between exchanges upstream has nothing to say, so
// anything to read, the end above all, means that it cannot. The look costs one system call that does not wait.
func (c *conn) alive() bool {
	open := false
	// Control, not Read, which would fail on the deadline that the exchange before has left.
	err := c.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = n < 0 && (err == syscall.EAGAIN || err == syscall.EWOULDBLOCK)
	})
	return err == nil && open
}
