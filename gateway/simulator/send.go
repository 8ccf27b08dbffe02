package simulator

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/gateway/simulator/billing"
)

// LeakMark is part of the value of every response header that reveals the account. A gateway must pass none of them.
const LeakMark = "account-secret-4711"

// exchange sends the answer of one call to its client, with the faults of the connection.
type exchange struct {
	*call
	ctx    context.Context // ends when the client leaves
	w      http.ResponseWriter
	ledger *ledger
	stalls *stalls

	// Of a stream:
	events int          // sent so far
	spent  billing.Work // by the sent frames
	over   func()       // bills and ends the stream, once
}

// send sends an answer, with the call's fault.
func (x *exchange) send(a *answer) {
	if a.ended == nil {
		a.ended = func() {}
	}
	defer a.ended() // may be called twice
	// The whole answer is billed before the first byte, whether or not the client receives it. Only a stream that the fault ends early
	// costs what was sent.
	partial := a.frames != nil && (x.fault.Cut != "" || x.fault.Error != nil)
	if !partial {
		x.bill(a.cost)
	}
	if !x.wait() {
		return
	}
	switch {
	case x.fault.Drop != "":
		hangUp(x.w, x.fault.Drop == "reset")
		return
	case x.fault.Upgrade:
		conn := seize(x.w)
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw tunnel\n")
		return
	}
	x.setHeader()
	if x.fault.Redirect != "" {
		x.w.Header().Set("Location", x.fault.Redirect)
		x.start(http.StatusTemporaryRedirect)
		return
	}
	if x.fault.Gzip {
		x.w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(x.w)
		defer z.Close() // after a cut the connection is gone
		x.w = &gzipWriter{x.w, z}
	}
	switch {
	case x.fault.Body != nil:
		x.sendDocument(http.StatusOK, "application/json", []byte(*x.fault.Body))
	case a.png != nil:
		x.sendDocument(http.StatusOK, "image/png", a.png)
	case a.frames != nil:
		x.over = sync.OnceFunc(func() {
			if partial {
				x.bill(x.spent)
			}
			a.ended()
		})
		defer x.over()
		x.sendStream(a.frames)
	default:
		if r, ok := a.doc.(*reply); ok {
			x.spoil(r)
		}
		x.sendDocument(http.StatusOK, "application/json", encode(a.doc))
	}
}

// bill bills work of the call.
func (x *exchange) bill(w billing.Work) {
	w.At, w.Account, w.Model = x.At, x.Account, x.model
	x.ledger.bill(w)
}

// refuse answers with a refusal: as a stream frame with status 200 if the client wants a stream, else with its own status.
func (x *exchange) refuse(r *refusal) {
	if !x.wait() {
		return
	}
	x.setHeader()
	if r == errMethod {
		x.w.Header().Set("Allow", x.method)
	}
	if x.streams() && !r.plain {
		x.w.Header().Set("Content-Type", streamType)
		if x.start(http.StatusOK) {
			x.event("error", r.status, r.body(x.ID))
		}
		return
	}
	x.sendDocument(r.status, "application/json", encode(r.body(x.ID)))
}

// wait waits for the fault's delay, and reports whether the client is still there.
func (x *exchange) wait() bool {
	return pause(x.ctx, x.fault.Delay) && (x.fault.Stall != "before" || x.stalls.wait(x.ctx) == nil)
}

// setHeader sends the fault's 103 answers, and sets the headers of every answer, some of which no gateway may pass on.
func (x *exchange) setHeader() {
	h := x.w.Header()
	h.Set("Link", "</early>; rel=preload; as=script")
	for range x.fault.Informational {
		x.w.WriteHeader(http.StatusEarlyHints)
	}
	h.Del("Link")
	h.Set("X-Request-Id", x.ID)
	h.Set("Server", "model-service "+LeakMark)
	h.Set("Set-Cookie", "acw_tc="+LeakMark+";path=/;HttpOnly;Max-Age=1800")
	for _, name := range []string{"Uid", "ApiKey-Id", "Inner-Trace"} {
		h.Set(x.cfg.HeaderPrefix+name, LeakMark)
	}
	for name, value := range x.fault.Header {
		h.Set(name, value)
	}
	if x.fault.RetryAfter != "" {
		h.Set("Retry-After", x.fault.RetryAfter)
	}
}

// start sends the header, and stalls if the fault requires it. It reports whether to continue.
func (x *exchange) start(status int) bool {
	x.w.WriteHeader(status)
	if x.fault.Stall != "headers" {
		return true
	}
	flush(x.w)
	return x.stalls.wait(x.ctx) == nil
}

// sendDocument sends an answer that is not a stream.
func (x *exchange) sendDocument(status int, media string, body []byte) {
	f := x.fault
	x.w.Header().Set("Content-Type", media)
	if f.Cut != "end" && !f.Endless && !f.Gzip {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !x.start(status) {
		return
	}
	if f.Cut != "" || f.Stall == "body" {
		half := len(body) / 2
		if f.After == 0 {
			half = 0
		}
		x.w.Write(body[:half])
		flush(x.w)
		body = body[half:]
	}
	if f.Stall == "body" && x.stalls.wait(x.ctx) != nil {
		return
	}
	if f.Cut != "" {
		x.cut()
		return
	}
	_, err := x.w.Write(body)
	for f.Endless && err == nil && x.ctx.Err() == nil {
		_, err = x.w.Write(bytes.Repeat([]byte(" "), 32<<10))
	}
}

// spoil applies the faults that change a reply.
func (x *exchange) spoil(r *reply) {
	r.Padding = strings.Repeat("x", x.fault.PadBytes)
	if u, ok := r.Usage.(textUsage); ok {
		r.Usage = u.as(x.fault.Usage)
	}
	if x.fault.NoUsage {
		r.Usage = nil
	}
}

// streamType is the media type of every stream.
const streamType = "text/event-stream;charset=UTF-8"

// sendStream sends an answer frame by frame.
func (x *exchange) sendStream(frames iter.Seq[frame]) {
	x.w.Header().Set("Content-Type", streamType)
	if !x.start(http.StatusOK) {
		return
	}
	if x.cfg.FrameDelay > 0 {
		flush(x.w) // a client sees the header before the first frame
	}
	for again := true; again; again = x.fault.Endless {
		for f := range frames {
			if x.fault.Endless && f.last {
				continue
			}
			if x.events == x.fault.After && !x.meetFault() || !pause(x.ctx, x.cfg.FrameDelay) {
				return
			}
			x.spoil(&f.reply)
			if !x.event("result", http.StatusOK, &f.reply) {
				return
			}
			x.spent = f.spent
		}
		// A stream no longer than After meets its fault at the end.
		if x.events <= x.fault.After && !x.meetFault() {
			return
		}
	}
}

// meetFault executes the fault after After frames, and reports whether the stream continues.
func (x *exchange) meetFault() bool {
	if x.fault.Stall == "body" {
		flush(x.w)
		if x.stalls.wait(x.ctx) != nil {
			return false
		}
	}
	if x.fault.Error == nil && x.fault.Cut == "" {
		return true
	}
	x.over() // before the client can notice
	if x.fault.Error == nil {
		x.cut()
		return false
	}
	r := x.fault.Error.refusal()
	x.event("error", r.status, r.body(x.ID))
	return false
}

// event writes one event in the service's form: LF line ends, no space after a colon, ids from 1. It reports whether the client is still
// there.
func (x *exchange) event(name string, status int, data any) bool {
	x.events++
	_, err := fmt.Fprintf(x.w, "id:%d\nevent:%s\n:HTTP_STATUS/%d\ndata:%s\n\n", //nolint:gosec // JSON in a stream of events, no page
		x.events, name, status, encode(data))
	flush(x.w)
	return err == nil
}

// cut ends a started answer early: with close or reset by breaking the connection, else like a complete answer.
func (x *exchange) cut() {
	flush(x.w) // what was written must arrive first
	switch x.fault.Cut {
	case "reset":
		hangUp(x.w, true)
	case "close":
		panic(http.ErrAbortHandler)
	}
}

// hangUp closes the connection, with a reset if asked.
func hangUp(w http.ResponseWriter, reset bool) {
	conn := seize(w)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // makes Close send a reset; other connections just close
	}
	_ = conn.Close()
}

// seize hijacks the connection. If that is impossible (HTTP/2, a recorder) it aborts the handler, which also breaks the answer.
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

// flush sends what was written. Only writers without a client, such as recorders, cannot flush.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// gzipWriter compresses an answer. A client can decompress what was flushed without the rest.
type gzipWriter struct {
	http.ResponseWriter
	z *gzip.Writer
}

// Write compresses p.
func (w *gzipWriter) Write(p []byte) (int, error) { return w.z.Write(p) }

// FlushError sends everything written so far.
func (w *gzipWriter) FlushError() error {
	return cmp.Or(w.z.Flush(), http.NewResponseController(w.ResponseWriter).Flush())
}

// Unwrap gives access to the connection below.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
