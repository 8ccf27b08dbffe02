package simulator

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sender puts answers on connections, with the faults of their requests.
type sender struct {
	headerPrefix string        // of the service's own headers
	frameDelay   time.Duration // before every stream frame
	stalls       stalls
}

// exchange is one answer on its way to the client.
type exchange struct {
	*sender
	ctx       context.Context // ends when the client leaves
	w         http.ResponseWriter
	fault     *Fault
	requestID string
	streams   bool // the client asked for a stream
	// status is called with the answer's status before its first byte.
	status func(int)
	// bill is called with what the answer cost.
	bill func(model string, c cost)
}

// send acts out an answer with the exchange's fault.
func (x *exchange) send(a answer) {
	f := x.fault
	// What is certain to be spent is billed before the first byte: whether the
	// client receives it makes no difference.
	if !a.partial(f) {
		x.bill(a.model, a.cost)
	}
	if a.ended != nil {
		defer a.ended() // a second time does no harm
	}
	if !x.wait() {
		return
	}
	switch {
	case f.Drop != "":
		hangUp(x.w, f.Drop == "reset")
		return
	case f.Upgrade:
		x.status(http.StatusSwitchingProtocols)
		upgrade(x.w)
		return
	}
	x.setHeader()
	switch {
	case f.Redirect != "":
		x.w.Header().Set("Location", f.Redirect)
		x.start(http.StatusTemporaryRedirect)
	case f.HeaderDelay > 0:
		x.crawl(a)
	default:
		x.sendWhole(a)
	}
}

func (x *exchange) sendWhole(a answer) {
	if a.frames != nil && x.fault.Body == nil {
		x.sendStream(a)
	} else {
		x.sendPlain(a)
	}
}

// refuse answers an error: as a stream frame with status 200 if a stream was
// asked for, else with its own status.
func (x *exchange) refuse(r *refusal) {
	if !x.wait() {
		return
	}
	x.setHeader()
	if r.allow != "" {
		x.w.Header().Set("Allow", r.allow)
	}
	if x.streams && !r.plain {
		x.w.Header().Set("Content-Type", streamType)
		if x.start(http.StatusOK) {
			(&frameWriter{w: x.w}).error(r, x.requestID)
		}
		return
	}
	body := marshal(r.body(x.requestID))
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if x.start(r.status) {
		x.w.Write(body)
	}
}

// partial reports whether the fault ends a stream early, so that only the
// part that went out is spent.
func (a answer) partial(f *Fault) bool {
	return a.frames != nil && (f.Cut != "" || f.Error != nil)
}

// wait passes the time before the answer and reports whether the client is
// still there.
func (x *exchange) wait() bool {
	return pause(x.ctx, x.fault.Delay) && (x.fault.Stall != "before" || x.stalls.wait(x.ctx) == nil)
}

// setHeader sends the 103 answers that are asked for, and sets the header of
// every answer, with what no gateway may pass on.
func (x *exchange) setHeader() {
	inform(x.w, x.fault.Informational)
	h := x.w.Header()
	h.Set("X-Request-Id", x.requestID)
	h.Set("Server", "model-service "+leakMark)
	h.Set("Set-Cookie", "acw_tc="+leakMark+";path=/;HttpOnly;Max-Age=1800")
	for _, name := range []string{"Uid", "ApiKey-Id", "Inner-Trace"} {
		h.Set(x.headerPrefix+name, leakMark)
	}
	for name, value := range x.fault.Header {
		h.Set(name, value)
	}
	if x.fault.RetryAfter != "" {
		h.Set("Retry-After", x.fault.RetryAfter)
	}
}

// start sends the header, and stalls behind it if the fault says so. It
// reports whether to go on.
func (x *exchange) start(status int) bool {
	x.status(status)
	if t := x.fault.ContentType; t != "" {
		x.w.Header().Set("Content-Type", t)
	}
	x.w.WriteHeader(status)
	if x.fault.Stall != "headers" {
		return true
	}
	flush(x.w)
	return x.stalls.wait(x.ctx) == nil
}

// sendPlain sends an answer that is one document.
func (x *exchange) sendPlain(a answer) {
	f, body := x.fault, x.render(a)
	if f.Cut != "end" && !f.Endless {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !x.start(http.StatusOK) {
		return
	}
	if f.Cut != "" || f.Stall == "body" {
		half := 0
		if f.After > 0 {
			half = len(body) / 2
		}
		x.w.Write(body[:half])
		flush(x.w)
		body = body[half:]
		if f.Stall == "body" && x.stalls.wait(x.ctx) != nil {
			return
		}
		if f.Cut != "" {
			cutOff(x.w, f.Cut)
			return
		}
	}
	x.w.Write(body)
	if f.Endless {
		blanks(x.ctx, x.w)
	}
}

// render makes the bytes of a plain answer.
func (x *exchange) render(a answer) []byte {
	body, h := a.raw, x.w.Header()
	h.Set("Content-Type", cmp.Or(a.contentType, "application/json"))
	switch {
	case x.fault.Body != nil:
		body = []byte(*x.fault.Body)
	case a.doc != nil:
		if r, ok := a.doc.(*reply); ok {
			spoil(x.fault, r, 0)
		}
		body = marshal(a.doc)
	}
	if x.fault.Gzip {
		h.Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	return body
}

// spoil applies the faults that change what a reply says; i is the number of
// the frame.
func spoil(f *Fault, r *reply, i int) {
	if f.PadBytes > 0 {
		r.Padding = strings.Repeat("x", f.PadBytes)
	}
	switch {
	case f.NoUsage:
		r.Usage = nil
	case len(f.Usage) > 0:
		r.Usage = f.Usage[min(i, len(f.Usage)-1)]
	}
}

// marshal is encode without the newline.
func marshal(v any) []byte {
	var buf bytes.Buffer
	encode(&buf, v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func zip(body []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(body)
	z.Close()
	return buf.Bytes()
}

// pause waits for d and reports whether the context is still valid.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func flush(w http.ResponseWriter) {
	// A writer that cannot flush has no client that could notice.
	_ = http.NewResponseController(w).Flush()
}
