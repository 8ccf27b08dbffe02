// Package wire sends answers to clients, and acts out the faults that concern the connection.
package wire

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

// Sender has the parts that all exchanges share.
type Sender struct {
	HeaderPrefix string        // of the service's own headers
	FrameDelay   time.Duration // before every stream frame
	Stalls       fault.Stalls
}

// Exchange is one answer on its way to the client. All fields are required.
type Exchange struct {
	*Sender
	Ctx       context.Context // ends when the client leaves
	W         http.ResponseWriter
	Fault     *fault.Fault
	RequestID string
	Streams   bool // the client wants a stream
	// Status is called with the answer's status before its first byte.
	Status func(int)
	// Bill is called with what the answer cost.
	Bill func(model string, c answer.Cost)
}

// Send sends an answer, with the exchange's fault.
func (x *Exchange) Send(a answer.Answer) {
	f := x.Fault
	// What is certain to be spent is billed before the first byte: whether the client receives it makes no difference.
	if !partial(a, f) {
		x.Bill(a.Model, a.Cost)
	}
	if a.Ended != nil {
		defer a.Ended() // a second call does no harm
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
		x.sendBody(a)
	}
}

// Refuse answers an error: as a stream frame with status 200 if the client wants a stream, else with its own status.
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
			(&stream{Exchange: x}).error(r)
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

// partial reports whether the fault ends a stream early, so that only the part that was sent is spent.
func partial(a answer.Answer, f *fault.Fault) bool {
	return a.Frames != nil && (f.Cut != "" || f.Error != nil)
}

// wait lets the time before the answer pass, and reports whether the client is still there.
func (x *Exchange) wait() bool {
	return pause(x.Ctx, x.Fault.Delay) && (x.Fault.Stall != "before" || x.Stalls.Wait(x.Ctx) == nil)
}

// setHeader sends the 103 answers that a fault asks for, and sets the header of every answer, some of which no gateway may
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

// sendBody sends the answer's header and body.
func (x *Exchange) sendBody(a answer.Answer) {
	if x.Fault.Gzip {
		z := newZipWriter(x.W)
		defer z.close()
		x.W = z
	}
	if a.Frames != nil && x.Fault.Body == nil {
		x.sendStream(a)
	} else {
		x.sendDocument(a)
	}
}
