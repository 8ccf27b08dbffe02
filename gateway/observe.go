package gateway

import (
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"

	"sluice/telemetry"
)

// statusClientGone is what the log says of a request whose client left before its answer; nobody receives it.
const statusClientGone = 499

// ServeHTTP observes a request: it makes the Record and the request id, finds the route, runs its chain, writes a
// refusal, fences panics, and ends all of it exactly once.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{gateway: g, client: r.Context(), start: g.deps.Now(), header: r.Header, method: r.Method, ended: !hasBody(r)}
	c.Time, c.ID, c.Method, c.Scheme, c.Client = c.start, newID(c.start.UnixMilli()), r.Method, schemeOf(r), g.clientOf(r)
	g.deps.Metrics.Arrived()
	out := newReply(g, w, r, c)
	defer out.linger(r) // when what the request held is free
	defer g.end(out, r, c)
	if err := g.run(out, r, c); err != nil {
		g.answer(out, r, c, asRefusal(err))
	}
}

func (g *Gateway) run(w *reply, r *http.Request, c *call) error {
	m, err := g.routes.find(r.Method, r.URL)
	if err == nil {
		c.match, c.Endpoint, c.Route = m, string(m.route.endpoint), m.route.name
		c.creates = g.creates(m.route, r)
	}
	g.deps.Traces.Begin(&c.Record, r.Header)
	switch {
	case g.stopping.Load():
		return refuse(refuseStopping).say("This gateway is stopping; send the request again.")
	case err != nil:
		return err
	}
	return m.route.run(w, r, c)
}

// answer writes a refusal, or cuts the connection where bytes of another answer have left already: a cut is the only
// way left to say that it is not whole.
func (g *Gateway) answer(w *reply, r *http.Request, c *call, refused *refusal) {
	if refused.inside != nil { // it may quote what upstream sent
		g.deps.Logger.LogAttrs(r.Context(), slog.LevelDebug, "refused", slog.String("id", c.ID), slog.String("refusal", refused.name), slog.String("error", g.upstreamKey.Load().Cover(refused.inside.Error())))
	}
	if w.wrote {
		c.Refusal = refused.name
		panic(http.ErrAbortHandler)
	}
	w.closes = w.closes || !c.ended
	writeRefusal(w, c, refused)
	w.lingers = !c.ended
}

// end is deferred by ServeHTTP, so that it also runs for an answer that is cut and for a panic. http.ErrAbortHandler
// goes on up: swallowing it would make a cut answer look complete.
func (g *Gateway) end(w *reply, r *http.Request, c *call) {
	p := recover()
	if p != nil && p != http.ErrAbortHandler {
		p = g.fence(w, r, c, p)
	}
	if c.Key != "" && broken(c.Refusal) {
		g.strikes.Add(c.Key)
	}
	c.taken.release()
	c.slot.release()
	now := g.deps.Now()
	w.extendDeadline(now) // net/http writes the answer's end
	c.Duration = now.Sub(c.start)
	c.Overhead = max(c.Duration-c.away()-w.writing, 0)
	// A slow body's deadline also ends the request's context; its refusal was written all the same.
	if w.failed != nil || r.Context().Err() != nil && c.Refusal == "" {
		c.Status = statusClientGone
	}
	if c.heard.IsZero() {
		c.heard = c.Time.Add(c.Duration)
	}
	c.clientSpan.End(telemetry.Result{Status: c.UpstreamStatus, Fault: c.Refusal, Reading: &c.reading}, c.heard) // a creation's, or where a panic went past it
	g.deps.Metrics.Served(&c.Record)
	g.deps.Traces.End(&c.Record)
	g.deps.Record(c.Record)
	if p != nil {
		panic(p)
	}
}

// broken reports whether a request was refused for what it is, and not for whose it is or when it came.
func broken(refusal string) bool {
	switch refusal {
	case refuseLarge.name, refuseMedia.name, refuseSlow.name, refuseBody.name, refuseRules.name:
		return true
	}
	return false
}

// fence answers for a fault of our own and returns what is left to panic with.
func (g *Gateway) fence(w *reply, r *http.Request, c *call, p any) any {
	g.deps.Logger.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("id", c.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if w.wrote {
		c.Refusal = refusePanic.name
		return http.ErrAbortHandler
	}
	writeRefusal(w, c, refuse(refusePanic).say("The gateway failed; its operators can find the cause by the request id."))
	return nil
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// newID returns a UUID of version 7 in lower case: the moment in milliseconds, by which the age of a hold is told, and
// 74 random bits. They need not be secret, only unlike any other, so the runtime's generator (ChaCha8, seeded by the
// system) serves.
func newID(ms int64) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|rand.Uint64()&0x0fff|0x7000)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	var s [36]byte
	hex.Encode(s[0:8], id[0:4])
	hex.Encode(s[9:13], id[4:6])
	hex.Encode(s[14:18], id[6:8])
	hex.Encode(s[19:23], id[8:10])
	hex.Encode(s[24:36], id[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
