package simulator

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"time"
)

// send acts out an answer with the call's fault.
func (s *Simulator) send(w http.ResponseWriter, c *call, a answer) {
	ctx, f := c.r.Context(), c.fault
	// What is certain to be spent is billed before the first byte: whether
	// the client hears of it makes no difference.
	if !a.partial(f) {
		s.bill.add(a.model, a.cost)
	}
	if a.ended != nil {
		defer a.ended() // a second time does no harm
	}
	if !pause(ctx, f.Delay) || f.Stall == "before" && s.stalls.wait(ctx) != nil {
		return
	}
	switch {
	case f.Drop != "":
		hangUp(w, f.Drop == "reset")
		return
	case f.Upgrade:
		s.records.setStatus(c.rec, http.StatusSwitchingProtocols)
		upgrade(w)
		return
	}
	inform(w, f.Informational)
	s.setHeader(w, c)
	switch {
	case f.Redirect != "":
		w.Header().Set("Location", f.Redirect)
		s.start(w, c, http.StatusTemporaryRedirect)
	case f.HeaderDelay > 0:
		s.crawl(w, c, a)
	case a.frames != nil && f.Body == nil:
		s.sendStream(w, c, a)
	default:
		s.sendPlain(w, c, a)
	}
}

// partial reports whether the fault ends a stream early, so that only the
// part that went out is spent.
func (a answer) partial(f *Fault) bool {
	return a.frames != nil && (f.Cut != "" || f.Error != nil)
}

// setHeader sets what every answer carries, and what no gateway may pass on.
func (s *Simulator) setHeader(w http.ResponseWriter, c *call) {
	h := w.Header()
	h.Set("X-Request-Id", c.id)
	h.Set("Server", "model-service "+LeakMark)
	h.Set("Set-Cookie", "acw_tc="+LeakMark+";path=/;HttpOnly;Max-Age=1800")
	h.Set(s.cfg.HeaderPrefix+"Uid", LeakMark)
	h.Set(s.cfg.HeaderPrefix+"ApiKey-Id", LeakMark)
	h.Set(s.cfg.HeaderPrefix+"Inner-Trace", LeakMark)
	for name, value := range c.fault.Header {
		h.Set(name, value)
	}
	if c.fault.RetryAfter != "" {
		h.Set("Retry-After", c.fault.RetryAfter)
	}
}

// start sends the header, and stalls behind it if the fault says so. It
// reports whether to go on.
func (s *Simulator) start(w http.ResponseWriter, c *call, status int) bool {
	s.records.setStatus(c.rec, status)
	if t := c.fault.ContentType; t != "" {
		w.Header().Set("Content-Type", t)
	}
	w.WriteHeader(status)
	if c.fault.Stall != "headers" {
		return true
	}
	flush(w)
	return s.stalls.wait(c.r.Context()) == nil
}

// sendPlain sends an answer that is one document.
func (s *Simulator) sendPlain(w http.ResponseWriter, c *call, a answer) {
	f, body := c.fault, c.render(w, a)
	if f.Cut != "end" && !f.Endless {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !s.start(w, c, http.StatusOK) {
		return
	}
	if f.Cut != "" || f.Stall == "body" {
		half := 0
		if f.After > 0 {
			half = len(body) / 2
		}
		w.Write(body[:half])
		flush(w)
		body = body[half:]
		if f.Stall == "body" && s.stalls.wait(c.r.Context()) != nil {
			return
		}
		if f.Cut != "" {
			cutOff(w, f.Cut)
			return
		}
	}
	w.Write(body)
	if f.Endless {
		blanks(c.r.Context(), w)
	}
}

// render makes the bytes of a plain answer.
func (c *call) render(w http.ResponseWriter, a answer) []byte {
	body := a.raw
	w.Header().Set("Content-Type", "application/json")
	if a.contentType != "" {
		w.Header().Set("Content-Type", a.contentType)
	}
	switch {
	case c.fault.Body != nil:
		body = []byte(*c.fault.Body)
	case a.doc != nil:
		if r, ok := a.doc.(*reply); ok {
			c.fault.spoil(r, 0)
		}
		var buf bytes.Buffer
		encode(&buf, a.doc)
		body = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	}
	if c.fault.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	return body
}

// refuse answers an error: as a stream frame with status 200 where a stream
// was asked for, else with its own status.
func (s *Simulator) refuse(w http.ResponseWriter, c *call, r *refusal) {
	f := c.fault
	if !pause(c.r.Context(), f.Delay) || f.Stall == "before" && s.stalls.wait(c.r.Context()) != nil {
		return
	}
	inform(w, f.Informational)
	s.setHeader(w, c)
	if r.allow != "" {
		w.Header().Set("Allow", r.allow)
	}
	if c.streams() && !r.plain {
		out := frameWriter{w: w}
		w.Header().Set("Content-Type", streamType)
		if s.start(w, c, http.StatusOK) {
			out.error(r, c.id)
		}
		return
	}
	var buf bytes.Buffer
	encode(&buf, r.body(c.id))
	body := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if s.start(w, c, r.status) {
		w.Write(body)
	}
}

// streams reports whether the call asks for a stream where there can be one.
func (c *call) streams() bool {
	switch c.rec.Endpoint {
	case EndpointText, EndpointMultimodal, EndpointImage:
		return c.sse
	}
	return false
}

func zip(body []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(body)
	z.Close()
	return buf.Bytes()
}

// pause waits for d and reports whether the context still lives.
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
