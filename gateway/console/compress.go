package console

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// leastCompressed is how many bytes an answer must have: a smaller one fits into a packet as it is.
const leastCompressed = 1 << 10

// compressed compresses what is read, for clients that accept gzip. A new key stands only in the answer to a POST, which stays as it is: the
// length of a compressed one could say something about the key. Streams keep no window between two events: a thousand of them would cost
// hundreds of megabytes.
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
