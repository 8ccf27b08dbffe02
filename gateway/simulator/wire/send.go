// Package wire sends answers to clients, and acts out the faults that concern the connection.
package wire

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

// Sender puts answers on connections, with the faults of their requests.
type Sender struct {
	HeaderPrefix string        // of the service's own headers
	FrameDelay   time.Duration // before every stream frame
	Stalls       fault.Stalls
}

// Exchange is one answer on its way to the client.
type Exchange struct {
	*Sender
	Ctx       context.Context // ends when the client leaves
	W         http.ResponseWriter
	Fault     *fault.Fault
	RequestID string
	Streams   bool // the client asked for a stream
	// status is called with the answer's status before its first byte.
	Status func(int)
	// bill is called with what the answer cost.
	Bill func(model string, c answer.Cost)
}

// Send acts out an answer with the exchange's fault.
func (x *Exchange) Send(a answer.Answer) {
	f := x.Fault
	// What is certain to be spent is billed before the first byte: whether the client receives it makes no difference.
	if !partial(a, f) {
		x.Bill(a.Model, a.Cost)
	}
	if a.Ended != nil {
		defer a.Ended() // a second time does no harm
	}
	if !x.wait() {
		return
	}
	switch {
	case f.Drop != "":
		hangUp(x.W, f.Drop == "reset")
		return
	case f.Upgrade:
		x.Status(http.StatusSwitchingProtocols)
		upgrade(x.W)
		return
	}
	x.setHeader()
	switch {
	case f.Redirect != "":
		x.W.Header().Set("Location", f.Redirect)
		x.start(http.StatusTemporaryRedirect)
	case f.HeaderDelay > 0:
		x.crawl(a)
	default:
		x.sendWhole(a)
	}
}

func (x *Exchange) sendWhole(a answer.Answer) {
	if a.Frames != nil && x.Fault.Body == nil {
		x.sendStream(a)
	} else {
		x.sendPlain(a)
	}
}

// Refuse answers an error: as a stream frame with status 200 if a stream was asked for, else with its own status.
func (x *Exchange) Refuse(r *answer.Refusal) {
	if !x.wait() {
		return
	}
	x.setHeader()
	if r.Allow != "" {
		x.W.Header().Set("Allow", r.Allow)
	}
	if x.Streams && !r.Plain {
		x.W.Header().Set("Content-Type", streamType)
		if x.start(http.StatusOK) {
			(&frameWriter{w: x.W}).error(r, x.RequestID)
		}
		return
	}
	body := marshal(r.Body(x.RequestID))
	x.W.Header().Set("Content-Type", "application/json")
	x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if x.start(r.Status) {
		x.W.Write(body)
	}
}

// partial reports whether the fault ends a stream early, so that only the part that went out is spent.
func partial(a answer.Answer, f *fault.Fault) bool {
	return a.Frames != nil && (f.Cut != "" || f.Error != nil)
}

// wait passes the time before the answer and reports whether the client is still there.
func (x *Exchange) wait() bool {
	return pause(x.Ctx, x.Fault.Delay) && (x.Fault.Stall != "before" || x.Stalls.Wait(x.Ctx) == nil)
}

// setHeader sends the 103 answers that are asked for, and sets the header of every answer, with what no gateway may
// pass on.
func (x *Exchange) setHeader() {
	inform(x.W, x.Fault.Informational)
	h := x.W.Header()
	h.Set("X-Request-Id", x.RequestID)
	h.Set("Server", "model-service "+answer.LeakMark)
	h.Set("Set-Cookie", "acw_tc="+answer.LeakMark+";path=/;HttpOnly;Max-Age=1800")
	for _, name := range []string{"Uid", "ApiKey-Id", "Inner-Trace"} {
		h.Set(x.HeaderPrefix+name, answer.LeakMark)
	}
	for name, value := range x.Fault.Header {
		h.Set(name, value)
	}
	if x.Fault.RetryAfter != "" {
		h.Set("Retry-After", x.Fault.RetryAfter)
	}
}

// start sends the header, and stalls behind it if the fault says so. It reports whether to go on.
func (x *Exchange) start(status int) bool {
	x.Status(status)
	if t := x.Fault.ContentType; t != "" {
		x.W.Header().Set("Content-Type", t)
	}
	x.W.WriteHeader(status)
	if x.Fault.Stall != "headers" {
		return true
	}
	flush(x.W)
	return x.Stalls.Wait(x.Ctx) == nil
}

// sendPlain sends an answer that is one document.
func (x *Exchange) sendPlain(a answer.Answer) {
	f, body := x.Fault, x.render(a)
	if f.Cut != "end" && !f.Endless {
		x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !x.start(http.StatusOK) {
		return
	}
	if f.Cut != "" || f.Stall == "body" {
		half := 0
		if f.After > 0 {
			half = len(body) / 2
		}
		x.W.Write(body[:half])
		flush(x.W)
		body = body[half:]
		if f.Stall == "body" && x.Stalls.Wait(x.Ctx) != nil {
			return
		}
		if f.Cut != "" {
			cutOff(x.W, f.Cut)
			return
		}
	}
	x.W.Write(body)
	if f.Endless {
		blanks(x.Ctx, x.W)
	}
}

// render makes the bytes of a plain answer.
func (x *Exchange) render(a answer.Answer) []byte {
	body, h := a.Raw, x.W.Header()
	h.Set("Content-Type", cmp.Or(a.ContentType, "application/json"))
	switch {
	case x.Fault.Body != nil:
		body = []byte(*x.Fault.Body)
	case a.Doc != nil:
		if r, ok := a.Doc.(*answer.Reply); ok {
			spoil(x.Fault, r, 0)
		}
		body = marshal(a.Doc)
	}
	if x.Fault.Gzip {
		h.Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	return body
}

// spoil applies the faults that change what a reply says; i is the number of the frame.
func spoil(f *fault.Fault, r *answer.Reply, i int) {
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
	answer.Encode(&buf, v)
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
