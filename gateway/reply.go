package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// reply is the ResponseWriter of every handler. It adds Sluice's own headers when the header leaves, gives each write
// a deadline, and keeps the counts of the Record. It hides nothing: Unwrap lets http.ResponseController reach what is
// below, without which a stream would not be flushed.
type reply struct {
	http.ResponseWriter
	control http.ResponseController
	call    *call
	gateway *Gateway
	tee     *bytes.Buffer // keeps what is written; nil: nothing does
	closes  bool          // the connection ends with this answer
	wrote   bool          // the header has left
	failed  error         // the first write that failed; the client is gone or does not read
	bound   time.Time     // the write deadline in force

	// The time that writes and flushes took. It is not added to call.waited at once: the proxy flushes the header of a
	// stream from a goroutine of its own while the call reads the answer.
	writing time.Duration
}

func newReply(g *Gateway, w http.ResponseWriter, c *call) *reply {
	return &reply{ResponseWriter: w, control: *http.NewResponseController(w), call: c, gateway: g}
}

// Unwrap gives http.ResponseController the writer below.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header with Sluice's facts in it.
func (w *reply) WriteHeader(status int) {
	if w.wrote || status < http.StatusOK {
		return // upstream's informational answers are not for teams
	}
	w.wrote = true
	now := w.gateway.Now()
	w.stamp(w.Header(), now)
	w.call.Status = status
	w.extendDeadline(now)
	w.ResponseWriter.WriteHeader(status)
}

// stamp writes the facts that every answer carries. The maps are assigned directly: the names are canonical.
func (w *reply) stamp(h http.Header, now time.Time) {
	c := w.call
	c.FirstByte = now.Sub(c.start)
	values := []string{c.ID, serverTiming(c.FirstByte - c.waited)}
	h["Sluice-Request-Id"], h["Server-Timing"] = values[:1:1], values[1:]
	h["Cache-Control"] = noStore
	if w.closes || w.gateway.draining.Load() {
		h["Connection"] = []string{"close"}
	}
}

var noStore = []string{"private, no-store"} // shared: nothing writes to a header's values

// serverTiming tells the client how much of the wait was Sluice's, in ms to a tenth.
func serverTiming(own time.Duration) string {
	buf := make([]byte, 0, 24)
	buf = append(buf, "sluice;dur="...)
	return string(strconv.AppendFloat(buf, float64(own.Microseconds())/1000, 'f', 1, 64))
}

// Write sends bytes of the body. A client that takes longer than WriteTimeout to read what is written is cut off.
func (w *reply) Write(p []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	if w.tee != nil {
		w.tee.Write(p)
	}
	before := w.gateway.Now()
	w.extendDeadline(before)
	n, err := w.ResponseWriter.Write(p)
	w.writing += w.gateway.Now().Sub(before)
	w.call.BytesOut += int64(n)
	w.note(err)
	return n, err
}

// FlushError passes a flush on and remembers that the client is gone.
func (w *reply) FlushError() error {
	before := w.gateway.Now()
	err := w.control.Flush()
	w.writing += w.gateway.Now().Sub(before)
	w.note(err)
	return err
}

func (w *reply) note(err error) {
	if err != nil && w.failed == nil {
		w.failed = err
	}
}

// extendDeadline is called before each write, because a deadline for the whole answer would cut long streams. One that
// is nearly as far off already is left as it is. Writers that know no deadlines (test recorders) are left alone.
func (w *reply) extendDeadline(now time.Time) {
	if w.bound.Sub(now) <= w.gateway.WriteTimeout*15/16 {
		w.bound = now.Add(w.gateway.WriteTimeout)
		_ = w.control.SetWriteDeadline(w.bound)
	}
}
