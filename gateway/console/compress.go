package console

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// leastCompressed is the least size of a compressed answer, in bytes: a smaller one fits into a packet anyway.
const leastCompressed = 1 << 10

// compressed compresses answers to GET for clients that accept gzip. A new key is only in the answer to a POST, which is not compressed:
// its length could reveal something about the key. Streams keep no window between two events: a thousand of them would take hundreds of
// megabytes.
func compressed(next http.Handler) http.Handler {
	pages, streams := compressing(next, gzip.DefaultCompression), compressing(next, gzip.StatelessCompression)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			next.ServeHTTP(w, r)
		case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
			streams.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

func compressing(next http.Handler, level int) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.CompressionLevel(level), gzhttp.EnableZstd(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(next)
}
