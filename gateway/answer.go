package gateway

import (
	"net/http"
	"strconv"
	"time"
)

func jsonHeader() http.Header { return http.Header{"Content-Type": acceptJSON} }

// answer is a whole answer, upstream's or one that was kept.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w *reply) error { return a.writeAt(w, w.gateway.deps.Now()) }

// writeAt is write for who has just looked at the clock.
func (a answer) writeAt(w *reply, now time.Time) error {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.whole(a.status, a.body, now)
	return nil
}
