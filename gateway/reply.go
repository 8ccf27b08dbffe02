package gateway

import (
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
	kept    *keptAnswer // keeps what is written; nil: nothing does
	alone   bool        // no other request shares the connection: HTTP/1
	closes  bool        // the connection ends with this answer, where it is alone
	lingers bool        // the rest of the body is dropped once the request has ended
	wrote   bool        // the header has left
	failed  error       // the first write that failed; the client is gone or does not read
	bound   time.Time   // the write deadline in force; zero: none. net/http takes it off between requests

	// The time that writes and flushes took. It is not added to call.waited at once: the proxy flushes the header of a
	// stream from a goroutine of its own while the call reads the answer.
	writing time.Duration
}

func newReply(g *Gateway, w http.ResponseWriter, r *http.Request, c *call) *reply {
	out := &reply{ResponseWriter: w, control: *http.NewResponseController(w), call: c, gateway: g, alone: r.ProtoMajor == 1}
	out.written() // the server's own deadline is no bound for the wait until the answer
	return out
}

// Unwrap gives http.ResponseController the writer below.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header with Sluice's facts in it.
func (w *reply) WriteHeader(status int) { w.header(status, w.gateway.deps.Now()) }

func (w *reply) header(status int, now time.Time) {
	if w.wrote || status < http.StatusOK {
		return // upstream's informational answers are not for teams
	}
	w.wrote = true
	w.stamp(w.Header(), now)
	w.call.Status = status
	w.extendDeadline(now)
	if !w.call.ended {
		w.leaveBody(now)
	}
	w.ResponseWriter.WriteHeader(status)
	w.written()
}

// The values that never change are shared: nothing below writes to a header's values.
var (
	noStore = []string{"private, no-store"}
	closing = []string{"close"}
)

// stamp writes the facts that every answer carries. The maps are assigned directly: the names are canonical.
func (w *reply) stamp(h http.Header, now time.Time) {
	c := w.call
	c.FirstByte = now.Sub(c.start)
	facts := [2]string{c.ID, serverTiming(c.FirstByte - c.away())} // one allocation for both
	h["Sluice-Request-Id"], h["Server-Timing"] = facts[:1:1], facts[1:]
	h["Cache-Control"] = noStore
	if w.closes && w.alone || w.gateway.draining.Load() {
		h["Connection"] = closing
	}
}

// serverTiming tells the client how much of the wait was Sluice's, in ms to a tenth. A poll that shared another's query may
// have waited for less than that took: that is nothing.
func serverTiming(own time.Duration) string {
	tenths := int64((max(own, 0) + 50*time.Microsecond) / (100 * time.Microsecond))
	buf := strconv.AppendInt(append(make([]byte, 0, 32), "sluice;dur="...), tenths/10, 10)
	return string(append(buf, '.', byte('0'+tenths%10)))
}

// whole sends an answer that is there already, header and body: one look at the clock serves both.
func (w *reply) whole(status int, body []byte, now time.Time) {
	w.header(status, now)
	_, _ = w.write(body, now) // a client that is gone is seen by the Record
}

// Write sends bytes of the body. A client that takes longer than WriteTimeout to read what is written is cut off.
func (w *reply) Write(p []byte) (int, error) {
	now := w.gateway.deps.Now()
	if !w.wrote {
		w.header(http.StatusOK, now)
	}
	return w.write(p, now)
}

func (w *reply) write(p []byte, now time.Time) (int, error) {
	if w.kept != nil {
		w.kept.keep(p)
	}
	w.extendDeadline(now)
	n, err := w.ResponseWriter.Write(p)
	w.written()
	w.writing += w.gateway.deps.Now().Sub(now)
	w.call.BytesOut += int64(n)
	w.note(err)
	return n, err
}

// FlushError passes a flush on and remembers that the client is gone.
func (w *reply) FlushError() error {
	before := w.gateway.deps.Now()
	w.extendDeadline(before)
	err := w.control.Flush()
	w.written()
	w.writing += w.gateway.deps.Now().Sub(before)
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
	if w.bound.Sub(now) <= w.gateway.config.WriteTimeout*15/16 {
		w.bound = now.Add(w.gateway.config.WriteTimeout)
		_ = w.control.SetWriteDeadline(w.bound)
	}
}

// written takes the deadline off where it would act although nothing is being written: net/http ends a stream of HTTP/2 by
// it. Over HTTP/1 it acts on writes alone, and stays for the next.
func (w *reply) written() {
	if !w.alone {
		w.bound = time.Time{}
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}
