package limittest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// firstPort is where FreePort begins, in each process somewhere else, and triedPorts how many ports it has tried.
var (
	firstPort  = rand.Int64N(10_000)
	triedPorts atomic.Int64
)

// apart is how far the UDP port that claims a TCP port lies above it: a server may listen on UDP, too, at its own number.
const apart = 10_000

// FreePort returns a port of 127.0.0.1 from 12,000 to 21,999 on which nothing listens. The system gives connections only higher ports, and
// a UDP socket, apart above it, keeps other tests off it, also of other processes: the port is this test's until it ends. A node of a
// cluster of Redis also uses the TCP port 10,000 above its own.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 10_000 {
		port := 12_000 + int((firstPort+triedPorts.Add(1))%10_000)
		claim, err := net.ListenPacket("udp", fmt.Sprint("127.0.0.1:", port+apart)) //nolint:noctx // for tests
		if err != nil {
			continue
		}
		if listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil { //nolint:noctx // for tests
			_ = listener.Close()
			t.Cleanup(func() { _ = claim.Close() })
			return port
		}
		_ = claim.Close()
	}
	t.Fatal("no port is free")
	return 0
}
