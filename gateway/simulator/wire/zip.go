package wire

import (
	"compress/gzip"
	"net/http"
)

// zipWriter compresses an answer. What it has flushed can be unpacked without the rest.
type zipWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

func newZipWriter(w http.ResponseWriter) *zipWriter {
	w.Header().Set("Content-Encoding", "gzip")
	return &zipWriter{w, gzip.NewWriter(w)}
}

// Write compresses p.
func (w *zipWriter) Write(p []byte) (int, error) { return w.z.Write(p) }

// FlushError sends everything written so far.
func (w *zipWriter) FlushError() error {
	if err := w.z.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives access to the connection below.
func (w *zipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *zipWriter) close() {
	_ = w.z.Close() // after a cut the connection is gone
}
