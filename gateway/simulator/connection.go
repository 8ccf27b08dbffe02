package simulator

import (
	"cmp"
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"time"
)

// hangUp closes the connection, with a reset if asked.
func hangUp(w http.ResponseWriter, reset bool) {
	conn := seize(w)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // a TLS or pipe connection simply closes
	}
	_ = conn.Close()
}

// seize takes the connection away from the server. If that is impossible (HTTP/2, a recorder) it aborts the handler,
// which breaks the answer too.
func seize(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn
}

// pause waits for d, and reports whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// flush sends what was written. A writer that cannot flush has no client that could notice.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// gzipWriter compresses an answer. What it has flushed can be unpacked without the rest.
type gzipWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

func newGzipWriter(w http.ResponseWriter) *gzipWriter {
	w.Header().Set("Content-Encoding", "gzip")
	return &gzipWriter{w, gzip.NewWriter(w)}
}

// Write compresses p.
func (w *gzipWriter) Write(p []byte) (int, error) { return w.z.Write(p) }

// FlushError sends everything written so far.
func (w *gzipWriter) FlushError() error {
	return cmp.Or(w.z.Flush(), http.NewResponseController(w.ResponseWriter).Flush())
}

// Unwrap gives access to the connection below.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
