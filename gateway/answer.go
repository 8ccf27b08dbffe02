package gateway

import (
	"net/http"
	"strconv"
	"time"
)

func jsonHeader() http.Header { return http.Header{"Content-Type": acceptJSON} }

// answer is a whole answer: the service's, or the gateway's own.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w *reply) error { return a.writeAt(w, w.terms.now()) }

// writeAt is write with a time that was just read.
func (a answer) writeAt(w *reply, now time.Time) error {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.whole(a.status, a.body, now)
	return nil
}
