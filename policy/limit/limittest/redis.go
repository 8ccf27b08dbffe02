package limittest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func FakeRedis(t testing.TB) redis.UniversalClient {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// AgedRedis is a double whose keys can be made to expire.
func AgedRedis(t testing.TB) (*miniredis.Miniredis, redis.UniversalClient) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

// server is the one redis-server of this test binary; each test has a database of its own, emptied before.
var server struct {
	sync.Mutex
	socket string
	port   int
	next   int
	stop   func()
}

func RealRedis(t testing.TB) redis.UniversalClient {
	server.Lock()
	defer server.Unlock()
	if server.socket == "" {
		startRedis(t)
	}
	server.next = (server.next + 1) % 16
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.socket, DB: server.next, Protocol: 2, MaxRetries: -1, DisableIdentity: true, PoolSize: 64})
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TcpRedis is the same server over TCP, as a gateway reaches it.
func TcpRedis(t testing.TB) redis.UniversalClient {
	RealRedis(t)
	client := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", server.port), DB: server.next, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true, PoolSize: 64, PipelinePoolSize: -1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func startRedis(t testing.TB) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI_REQUIRES_REDIS") != "" {
			t.Fatal("redis-server is not installed, and CI requires it")
		}
		t.Skip("redis-server is not installed; miniredis runs the same test")
	}
	dir, err := os.MkdirTemp("", "sluice-redis")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.port = listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	command := exec.Command(path, "--port", fmt.Sprint(server.port), "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--dir", dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	server.stop = func() { _ = command.Process.Kill(); _ = command.Wait(); _ = os.RemoveAll(dir) }
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections at") {
	}
	go func() {
		for lines.Scan() { // it must not block on its log
		}
	}()
	if conn, err := net.Dial("unix", socket); err != nil {
		t.Fatalf("redis-server did not start: %v", err)
	} else {
		_ = conn.Close()
	}
	server.socket = socket
}

// StopRedis ends the redis-server of this test binary.
func StopRedis() {
	if server.stop != nil {
		server.stop()
	}
}
