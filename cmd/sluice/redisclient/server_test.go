package redisclient

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"sluice/policy/limit/limittest"
)

// patience bounds the waits of a test.
const patience = 30 * time.Second

// startRedis starts a redis-server and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI_REQUIRES_REDIS") != "" {
			t.Fatal("redis-server is not installed, and CI requires it")
		}
		t.Skip("redis-server is not installed")
	}
	port := fmt.Sprint(limittest.FreePort(t))
	address := "127.0.0.1:" + port
	server := exec.Command(path, "--port", port, "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	eventually(t, "redis-server serves", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return address
}

// open opens a client of one server.
func open(t *testing.T, address string, timeout time.Duration) *Client {
	t.Helper()
	c := Open(configOf(t, address, timeout))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func configOf(t *testing.T, address string, timeout time.Duration) Config {
	t.Helper()
	a, ok := ParseAddress("redis://" + address)
	if !ok {
		t.Fatalf("%s is not an address", address)
	}
	return Config{Address: a, Timeout: timeout, KeyPrefix: "sl1:", Away: errors.New("away"), Busy: errors.New("busy"),
		Log: slog.New(slog.DiscardHandler)}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("not yet: " + what)
		}
	}
}
