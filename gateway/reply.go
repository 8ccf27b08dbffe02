package gateway

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sluice/gateway/dialect"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
)

// reply is the ResponseWriter of every handler. It adds Sluice's own headers when the header leaves, gives each write
// a deadline, and counts for the Record. Unwrap lets http.ResponseController reach the writer below; without it a stream
// would not be flushed.
type reply struct {
	http.ResponseWriter
	control  http.ResponseController
	bare     http.ResponseWriter // net/http's own
	state    *requestState
	bounds   *clientBounds
	front    *dialect.Writer // turns the answer into the client's dialect, below this writer; nil: the answer keeps the service's form
	kept     *wire.Kept      // keeps what is written; nil: nothing is kept
	alone    bool            // no other request shares the connection: HTTP/1
	closes   bool            // the connection ends with this answer, if it is alone
	wrote    bool            // the header has left
	ended    bool            // the request has ended in order
	flushes  sync.Mutex      // the proxy flushes a stream's header from another goroutine, which may be late
	begins   bool            // nothing of the stream has been passed on yet
	failed   error           // the first failed write: the client left or does not read
	late     bool            // the client had left before the error of its answer
	deadline time.Time       // the write deadline in force; zero: none. net/http removes it between requests

	// The time that writes and flushes took. It is not added to the state's waited immediately: the proxy flushes the header of a
	// stream from another goroutine while the answer is read.
	writing time.Duration
}

// begin removes the server's own write deadline over HTTP/2, where it would bound the wait until the answer. Over HTTP/1 it
// stays in force for writes soon after the request's start, unless Sluice's own bound of a write is shorter.
func (w *reply) begin(r *http.Request) {
	w.alone = r.ProtoMajor == 1
	w.written()
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && w.alone && server.WriteTimeout > 0 &&
		server.WriteTimeout <= w.bounds.writeTimeout {
		w.deadline = w.state.start.Add(server.WriteTimeout)
	}
}

// Unwrap gives http.ResponseController the writer below.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header, with Sluice's own fields in it.
func (w *reply) WriteHeader(status int) { w.header(status, w.bounds.now()) }

func (w *reply) header(status int, now time.Time) {
	if w.wrote || status < http.StatusOK {
		return // the service's informational answers are not for teams
	}
	w.wrote = true
	w.stamp(w.Header(), now)
	w.state.Status = status
	w.extendDeadline(now)
	if !w.state.bodyEnded {
		w.leaveBody(now)
	}
	w.begins = w.alone && wire.IsStream(w.Header())
	w.ResponseWriter.WriteHeader(status)
	w.written()
}

// The values that never change are shared: no code writes to a header's values.
var (
	noStore = []string{"private, no-store"}
	closing = []string{"close"}
	noSniff = []string{"nosniff"} // a browser that opens an answer takes its type as declared
)

// stamp sets the headers of every answer. It assigns to the map directly: the names are canonical.
func (w *reply) stamp(h http.Header, now time.Time) {
	s := w.state
	s.FirstByte = now.Sub(s.start)
	h["Sluice-Request-Id"] = s.values.One(s.ID)
	h["Server-Timing"] = s.values.One(wire.ServerTiming(s.FirstByte-s.away(), s.Queued))
	if s.preferred {
		h["Preference-Applied"] = s.values.One("wait=" + strconv.Itoa(int(s.patience/time.Second)))
	}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	if w.closes && w.alone || w.bounds.draining.Load() {
		h["Connection"] = closing
	}
	if w.bounds.cors != nil {
		w.bounds.cors.Stamp(h, s.header)
	}
}

// Write sends bytes of the body. A client that does not read them within WriteTimeout is cut off.
func (w *reply) Write(p []byte) (int, error) {
	now := w.bounds.now()
	if !w.wrote {
		w.header(http.StatusOK, now)
	}
	return w.write(p, now)
}

func (w *reply) write(p []byte, now time.Time) (int, error) {
	if w.kept != nil {
		w.kept.Keep(p)
	}
	w.extendDeadline(now)
	pass := w.ResponseWriter.Write
	if w.begins {
		pass = w.passFirst
	}
	n, err := pass(p)
	w.written()
	w.writing += w.bounds.now().Sub(now)
	w.state.BytesOut += int64(n)
	w.note(err)
	return n, err
}

// passFirst hands the first piece of a stream to the writer below, on another goroutine: writing the header needs 4 KB of stack. A
// front may hold pieces back, and the header with them.
func (w *reply) passFirst(p []byte) (n int, err error) {
	wire.Apart(func() {
		if n, err = w.ResponseWriter.Write(p); err == nil {
			err = w.control.Flush()
		}
	})
	w.begins = dialect.HoldsBack(w.front)
	return n, err
}

// FlushError flushes, and notes that the client left.
func (w *reply) FlushError() error {
	w.flushes.Lock()
	defer w.flushes.Unlock()
	before := w.bounds.now()
	w.extendDeadline(before)
	w.begins = w.begins && dialect.HoldsBack(w.front)
	err := w.control.Flush()
	w.written()
	w.writing += w.bounds.now().Sub(before)
	w.note(err)
	return err
}

// ping lets the client of a silent stream know that it goes on. The goroutine that reads the answer calls it.
func ping(w *reply) {
	w.flushes.Lock()
	defer w.flushes.Unlock()
	w.extendDeadline(w.bounds.now())
	w.note(dialect.Ping(w.front))
	w.written()
}

func (w *reply) note(err error) {
	if err != nil && err != dialect.ErrAnswered && w.failed == nil {
		w.failed = err
	}
}

// extendDeadline sets the deadline of the next write; one deadline for the whole answer would cut long streams. It keeps a
// deadline that is nearly as late. Writers without deadlines, such as test recorders, are left alone.
func (w *reply) extendDeadline(now time.Time) {
	if w.deadline.Sub(now) <= w.bounds.writeTimeout*7/8 {
		w.deadline = now.Add(w.bounds.writeTimeout)
		_ = w.control.SetWriteDeadline(w.deadline)
	}
}

// written removes the deadline over HTTP/2, because it would end a silent stream there. Over HTTP/1 it affects only writes, and
// stays for the next.
func (w *reply) written() {
	if !w.alone {
		w.deadline = time.Time{}
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": acceptJSON} }

// answer is a whole answer: the service's, or the gateway's own.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w *reply) error { return a.writeAt(w, w.bounds.now()) }

// writeAt is write with a time that was just read.
func (a answer) writeAt(w *reply, now time.Time) error {
	h := w.Header()
	maps.Copy(h, a.header)
	h["Content-Length"] = w.state.values.One(strconv.Itoa(len(a.body)))
	w.header(a.status, now)
	_, _ = w.write(a.body, now) // the Record notes that the client left
	return nil
}

// writeRefusal writes every answer of Sluice's own: an error body in the service's form, with the request id that clients
// quote to support.
func writeRefusal(w *reply, s *requestState, r *refusal.Refusal) {
	s.Refusal, s.Reason, s.Limit = r.Name, r.Shown(), r.Limit
	if w.front != nil {
		w.front.Blame(r.Field)
	}
	w.closes = w.closes || r.Closes
	h, keeps := w.Header(), r.Keeps || s.held != nil
	maps.DeleteFunc(h, func(name string, _ []string) bool { // a stage or the proxy had prepared another answer
		return !keeps || name != "Ratelimit-Policy" && name != "Ratelimit" && name != "Sluice-Held"
	})
	h.Set("Content-Type", "application/json")
	h.Set("Sluice-Refusal", r.Name)
	if r.Header != "" {
		h.Set(r.Header, r.Value)
	}
	if r.Status == http.StatusUnauthorized {
		h.Set("Www-Authenticate", `Bearer realm="sluice"`)
	}
	if r.After > 0 || r.Status == http.StatusServiceUnavailable || r.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(wire.RetryAfter(r.After, rand.Float64())))
	}
	body := wire.ErrorBody(r.Code, r.Message, s.ID)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.Status)
	_, _ = w.Write(body) // the Record notes that the client left
}

// statusClientLeft is the logged status of a request whose client left before its answer. No client receives it.
const statusClientLeft = 499

// measure notes how long a request has taken so far, and whether its client has left.
func measure(w *reply, r *http.Request, now time.Time) {
	s := w.state
	s.Duration, s.Service = now.Sub(s.start), s.exchange.Waited
	s.Overhead = max(s.Duration-s.away()-w.writing, 0)
	// A slow body's deadline also ends the request's context; its refusal was still written. A client may leave with its answer.
	if w.failed != nil || w.late || r.Context().Err() != nil && s.Refusal == "" && !dialect.Answered(w.front) {
		s.Status = statusClientLeft
	}
}
