package gateway

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"

	"sluice/gateway/dialect/messages"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy/forms"
	"sluice/telemetry"
)

// ServeHTTP observes a request: it makes the Record and the request id, finds the route, runs its chain, writes a
// refusal, recovers from panics, and ends all of it exactly once.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := requestMemories.Get().(*requestMemory)
	s, out := c.begin(g, w, r)
	s.Time, s.ID, s.Method, s.Scheme, s.Client = s.start, telemetry.NewID(s.start.UnixMilli()), r.Method, wire.SchemeOf(r),
		wire.ClientOf(r, g.config.TrustedProxies)
	g.deps.Metrics.Arrived()
	if g.fronts != nil && isFront(r.URL) {
		out.translate(r, g.routes)
	}
	out.begin(r)
	defer c.end()
	defer out.linger(r) // after the request's memory and slot are free
	defer g.finish(out, r, s)
	if err := g.run(out, r, s); err != nil {
		g.answer(out, r, refusal.As(err))
	}
}

func (g *Gateway) run(w *reply, r *http.Request, s *requestState) error {
	method, preflight := r.Method, false
	if g.bounds.cors != nil {
		method, preflight = g.bounds.cors.Method(r)
	}
	m, err := g.routes.find(method, r.URL)
	if err == nil {
		s.match, s.Endpoint, s.Route, s.Front = m, string(m.route.endpoint), m.route.name, cmp.Or(m.route.front, s.Front)
		s.creates = g.inspection.headers.creates(m.route, r)
		if m.route.reads == forms.Messages {
			messages.Present(r.Header)
		}
	}
	g.deps.Traces.Begin(&s.Record, r.Header)
	switch {
	case g.live.stopping.Load():
		return refusal.Stopped()
	case err != nil:
		return err
	case preflight:
		if w.front != nil {
			w.front.Pass()
		}
		g.bounds.cors.Preflight(w.Header(), r.Header, allowed(m.route))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return m.route.run(w, r, s)
}

// answer writes a refusal. If bytes of another answer have left already, it cuts the connection instead: nothing else shows the
// client that the answer is incomplete.
func (g *Gateway) answer(w *reply, r *http.Request, refused *refusal.Refusal) {
	s := w.state
	if refused.Inside != nil { // it may quote what the service sent
		g.deps.Logger.LogAttrs(r.Context(), slog.LevelDebug, "refused",
			slog.String("id", s.ID), slog.String("refusal", refused.Name), slog.String("error", g.live.pool.Cover(refused.Inside.Error())))
	}
	if !w.refuse(refused) {
		panic(http.ErrAbortHandler)
	}
}

// finish is deferred by ServeHTTP, so that it also runs after a cut answer and a panic. It raises http.ErrAbortHandler again:
// without that, a cut answer would look complete.
func (g *Gateway) finish(w *reply, r *http.Request, s *requestState) {
	p := recover()
	inOrder := p == nil
	defer record(g, w, r, s) // whatever the end of the answer does
	if p != nil && p != http.ErrAbortHandler {
		p = g.recovered(w, r, p)
	}
	if w.front != nil {
		p = endFront(g, w, r, p)
	}
	if p != nil {
		panic(p)
	}
	w.ended = inOrder
}

// endFront ends the answer of a front after a panic with p. If the end itself panics, the client gets an error, or a cut.
func endFront(g *Gateway, w *reply, r *http.Request, p any) (after any) {
	defer func() {
		if lost := recover(); lost != nil {
			if after = g.recovered(w, r, lost); after == nil {
				after = w.endFront(r, nil)
			}
		}
	}()
	return w.endFront(r, p)
}

// record frees what a request holds, and writes its Record.
func record(g *Gateway, w *reply, r *http.Request, s *requestState) {
	defer g.deps.Record(&s.Record)
	defer releaseBody(g.inspection.buffers, s)
	if s.Key != "" && refusal.IsBroken(s.Refusal) {
		g.throttle.strikes.Add(s.Key)
	}
	g.throttle.leaveSlot(s)
	now := g.deps.Now()
	w.extendDeadline(now) // net/http writes the answer's end
	measure(w, r, now)
	if s.answered.IsZero() {
		s.answered = s.Time.Add(s.Duration)
	}
	// a creation's, or one that a panic left open
	s.clientSpan.End(telemetry.Result{Status: s.UpstreamStatus, Fault: s.Refusal, Reading: &s.reading}, s.answered)
	g.deps.Metrics.Served(&s.Record)
	g.deps.Traces.End(&s.Record)
}

// recovered answers after a panic, and returns the value to panic with again; nil: none.
func (g *Gateway) recovered(w *reply, r *http.Request, p any) any {
	g.deps.Logger.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("id", w.state.ID), slog.Any("panic", p),
		slog.String("stack", string(debug.Stack())))
	if !w.refuse(refusal.Failed()) {
		return http.ErrAbortHandler
	}
	return nil
}

// refuse writes a refusal in place of any answer, and reports false if bytes of another answer have left. The rest of the body is
// not read, because reading it may be what failed.
func (w *reply) refuse(refused *refusal.Refusal) bool {
	if w.wrote && !w.takeBack() {
		w.state.Refusal = refused.Name
		return false
	}
	w.closes = w.closes || !w.state.bodyEnded
	writeRefusal(w, w.state, refused)
	return true
}

// requestMemory is the memory of one request. Later requests reuse it, so that it is not allocated and collected for each.
type requestMemory struct {
	state    requestState
	reply    reply
	exchange upstream.Exchange
	room     room
}

var requestMemories = sync.Pool{New: func() any { return new(requestMemory) }}

// begin assigns the memory to a request. It is empty: new, or as end leaves it.
func (c *requestMemory) begin(g *Gateway, w http.ResponseWriter, r *http.Request) (*requestState, *reply) {
	s, out := &c.state, &c.reply
	s.service, s.client, s.start = g.forward.service, r.Context(), g.deps.Now()
	s.header, s.method, s.bodyEnded = r.Header, r.Method, !hasBody(r)
	s.exchange, s.room = &c.exchange, &c.room
	out.ResponseWriter, out.bare, out.control, out.state, out.bounds = w, w, *http.NewResponseController(w), s, g.bounds
	return s, out
}

// end gives the memory back if it is certain that nothing refers to it any more. A request that was refused or cut, that may have
// made a task, or whose body another goroutine may still write leaves its memory to the garbage collector.
func (c *requestMemory) end() {
	s := &c.state
	if !c.reply.ended || c.reply.failed != nil || s.Refusal != "" || s.fault != "" || s.creates || s.repeats != nil ||
		s.BytesIn > upstream.InlineBody {
		return
	}
	if c.reply.front != nil {
		c.reply.front.Release()
	}
	c.state = requestState{}
	c.reply = reply{}
	c.exchange.Reset()
	c.room = room{}
	requestMemories.Put(c)
}
