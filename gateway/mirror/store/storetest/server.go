// Package storetest runs a real store with S3's interface for tests: versitygw over a folder.
package storetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sluice/gateway/mirror/store"
)

// program is the server, which .ci/run builds.
const program = "versitygw"

// Server is a store that can be stopped and started again, over the same bytes.
type Server struct {
	t       *testing.T
	dir     string
	address string
	running *exec.Cmd
}

// Keys are the keys of every Server.
var Keys = store.Keys{ID: "sluice", Secret: "sluice-secret"}

const bucket = "pictures"

// Installed reports whether there is a server to run.
func Installed() bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// New starts a server. Without the program it skips the test.
func New(t *testing.T) *Server {
	t.Helper()
	if !Installed() {
		t.Skipf("%s is not installed: go build -modfile=.ci/store/go.mod -o DIR/%[1]s github.com/versity/versitygw/cmd/versitygw", program)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: t.TempDir(), address: listener.Addr().String()}
	_ = listener.Close()
	for _, dir := range []string{"data/" + bucket, "meta"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Start starts the server, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.running = exec.CommandContext(context.Background(), program, "--quiet", //nolint:gosec // of this package
		"--access", Keys.ID, "--secret", Keys.Secret, "--port", s.address, "posix", "--sidecar", filepath.Join(s.dir, "meta"),
		filepath.Join(s.dir, "data"))
	if err := s.running.Start(); err != nil {
		s.t.Fatal(err)
	}
	for ends := time.Now().Add(20 * time.Second); ; {
		conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", s.address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(ends) {
			s.t.Fatalf("%s does not answer: %v", program, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop kills the server. Its bytes stay.
func (s *Server) Stop() {
	if s.running != nil {
		_ = s.running.Process.Kill()
		_ = s.running.Wait()
		s.running = nil
	}
}

// URL is the address of a store in the server.
func (s *Server) URL() string {
	return fmt.Sprintf("s3://%s/below?endpoint=http://%s", bucket, s.address)
}

// Open opens it.
func (s *Server) Open() store.Store {
	s.t.Helper()
	return Open(s.t, s.URL())
}

// Open opens the store at an address.
func Open(t *testing.T, address string) store.Store {
	t.Helper()
	a, err := store.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(a, Keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}
