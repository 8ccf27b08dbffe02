package limittest

import (
	"bufio"
	"context"
	"errors"
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

// FakeRedis is a client of a miniredis.
func FakeRedis(t testing.TB) redis.UniversalClient {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Redises runs a test over a real Redis and over its double. With -short the double is left out where a redis-server is installed: it
// interprets scripts in this process, which costs ten times as much with the race detector.
func Redises(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Run("redis", func(t *testing.T) { test(t, RealRedis(t)) })
	if !Spared() {
		t.Run("miniredis", func(t *testing.T) { test(t, FakeRedis(t)) })
	}
}

// Spared reports whether -short leaves out Redis's double.
func Spared() bool {
	_, err := exec.LookPath(program)
	return testing.Short() && err == nil
}

const program = "redis-server"

// AgedRedis is a miniredis whose keys a test can make expire.
func AgedRedis(t testing.TB) (*miniredis.Miniredis, redis.UniversalClient) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

// server is the redis-server of this test binary. Each test has its own database, which is emptied first.
var server struct {
	sync.Mutex
	socket string
	port   int
	next   int
	stop   func()
}

// RealRedis is a client of a redis-server over a socket. The test is skipped if none is installed.
func RealRedis(t testing.TB) redis.UniversalClient {
	server.Lock()
	defer server.Unlock()
	if server.socket == "" {
		startRedis(t)
	}
	server.next = (server.next + 1) % 16
	client := redis.NewClient(&redis.Options{
		Network: "unix", Addr: server.socket, DB: server.next, Protocol: 2, MaxRetries: -1,
		DisableIdentity: true, PoolSize: 64,
	})
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// ScriptTime is how many scripts Redis has run, and how many microseconds they took.
func ScriptTime(t testing.TB, client redis.UniversalClient) (calls, took float64) {
	t.Helper()
	for line := range strings.Lines(client.Info(context.Background(), "commandstats").Val()) {
		var n, usec float64
		for _, command := range []string{"eval", "evalsha"} {
			if _, err := fmt.Sscanf(line, "cmdstat_"+command+":calls=%f,usec=%f,", &n, &usec); err == nil {
				calls, took = calls+n, took+usec
			}
		}
	}
	return calls, took
}

// TCPRedis is the same server over TCP.
func TCPRedis(t testing.TB) redis.UniversalClient {
	RealRedis(t)
	client := redis.NewClient(&redis.Options{
		Addr: fmt.Sprintf("127.0.0.1:%d", server.port), DB: server.next, Protocol: 2, MaxRetries: -1,
		DisableIdentity: true, ContextTimeoutEnabled: true, PoolSize: 64, PipelinePoolSize: -1,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func startRedis(t testing.TB) {
	path, err := exec.LookPath(program)
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
	server.port = FreePort(t)
	command := exec.Command(path, "--port", fmt.Sprint(server.port), "--bind", "127.0.0.1", //nolint:gosec,noctx // for tests
		"--unixsocket", socket, "--save", "", "--dir", dir)
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
	if conn, err := net.Dial("unix", socket); err != nil { //nolint:noctx // for tests
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

// Copy copies the data of a Redis. back empties it and restores the copy, like a Redis that starts with an older copy of its
// memory. miniredis can dump only texts, so the Redis MUST be a real one.
func Copy(t testing.TB, client redis.UniversalClient) (back func()) {
	t.Helper()
	keys := map[string]string{}
	for _, key := range client.Keys(t.Context(), "*").Val() {
		value, err := client.Dump(t.Context(), key).Result()
		if err != nil && !errors.Is(err, redis.Nil) { // a key may expire meanwhile
			t.Fatal(err)
		}
		if err == nil {
			keys[key] = value
		}
	}
	return func() {
		t.Helper()
		client.FlushDB(t.Context())
		for key, value := range keys {
			if err := client.Restore(t.Context(), key, 0, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
