package gateway_test

import (
	"net"
	"syscall"
	"testing"
)

// probes reads a connection's keep-alive settings: seconds until the first probe and between two, and their number.
func probes(t *testing.T, conn *net.TCPConn) (idle, interval, count int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for option, to := range map[int]*int{syscall.TCP_KEEPIDLE: &idle, syscall.TCP_KEEPINTVL: &interval, syscall.TCP_KEEPCNT: &count} {
			if *to, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || idle == 0 {
		t.Errorf("the settings cannot be read: %v", err)
	}
	return idle, interval, count
}
