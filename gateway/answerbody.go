package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/meter"
)

const (
	drainBytes = 8 << 20
	drainTime  = 30 * time.Second
)

// answerBody is an answer's body on its way to a client: read with a bound on silence, and drained when the client is
// gone, because the usage stands at the end and is owed either way.
type answerBody struct {
	io.ReadCloser
	conn     *conn
	call     *call
	gateway  *Gateway
	reusable bool      // upstream keeps the connection open behind this answer
	framed   bool      // its end is told apart from the connection's
	ended    bool      // EOF or an error was read
	whole    bool      // EOF was read
	closed   bool      // the connection is not ours any more
	limit    time.Time // the end of draining; zero before it began
	arrived  time.Time // when bytes last came, at first those of the header
	fault    string    // the refusal's name where it broke; else empty
	extended time.Time // when the hold was last given a lease, or the first read

	meter *meter.Meter // reads along; nil where no usage is looked for
	leave func() bool  // stops waiting for the client to leave; nil before it began
}

func newAnswerBody(g *Gateway, c *call, conn *conn, answer *http.Response) *answerBody {
	b := &answerBody{ReadCloser: answer.Body, conn: conn, call: c, gateway: g, reusable: !answer.Close}
	b.framed = answer.ContentLength >= 0 || len(answer.TransferEncoding) > 0
	if c.route == g.poll { // a look at a task is short, however its bytes come
		b.limit = time.Now().Add(queryTime)
	}
	conn.body = b
	return b
}

// arm bounds the silence before the next bytes of the connection, and, once the client has left, the time for draining.
func (b *answerBody) arm() {
	if b.leave == nil && !b.call.creates { // a creation is never cut short
		// The client may leave while upstream is silent: the read that waits ends with the time for draining. An answer
		// that came together with its header never gets here.
		conn, bound := b.conn, b.gateway.drainTime
		b.leave = context.AfterFunc(b.call.client, func() { _ = conn.SetReadDeadline(time.Now().Add(bound)) })
	}
	now := time.Now()
	b.gateway.keep(b.call, &b.extended, now)
	deadline := now.Add(b.gateway.IdleTimeout)
	_ = b.conn.SetReadDeadline(deadline) // a connection that is closed fails at the read
	// Looked at after the deadline is set: a client that leaves in between is not overlooked.
	if b.limit.IsZero() && b.gone() {
		b.limit = time.Now().Add(b.gateway.drainTime)
	}
	if !b.limit.IsZero() && deadline.After(b.limit) {
		_ = b.conn.SetReadDeadline(b.limit)
	}
}

// keep gives the hold of a request that runs long a new lease. last is when it was last given one, or first looked at.
func (g *Gateway) keep(c *call, last *time.Time, now time.Time) {
	switch {
	case c.held == nil:
	case last.IsZero():
		*last = now
	case now.Sub(*last) > g.lease/2:
		*last = now
		_ = g.Accounts.Extend(context.WithoutCancel(c.client), c.held, g.lease) // the next one may work
	}
}

// gone reports whether the client has left and what is read is drained.
func (b *answerBody) gone() bool { return !b.call.creates && b.call.client.Err() != nil }

var meters = sync.Pool{New: func() any { return new(meter.Meter) }}

// measure reads the usage along from here on. What is drained counts too.
func (b *answerBody) measure(h http.Header) {
	b.meter = meters.Get().(*meter.Meter)
	b.meter.Reset(first(h["Content-Type"]), first(h["Content-Encoding"]))
}

// measured hands the usage to the Record, and ends the exchange.
func (b *answerBody) measured() {
	ended := telemetry.Result{Status: b.call.UpstreamStatus, Fault: b.fault}
	b.call.whole, b.call.clean = b.whole, b.whole && b.framed
	if b.meter != nil {
		reading := b.meter.End()
		reading.Usage.Cover(b.gateway.upstreamKey.Load().Cover)
		b.call.Usage, b.call.reading = reading.Usage, reading
		ended.Reading = &b.call.reading
		if reading.Failed {
			b.gateway.alarmOf(reading.ErrorCode)
		}
		meters.Put(b.meter)
		b.meter = nil
	}
	if b.call.creates && b.whole && b.fault == "" {
		b.call.heard = b.arrived
		return // whether the answer names a task is seen next: observe ends the exchange
	}
	b.call.exchange.End(ended, b.arrived) // what was read last was its end
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.read(p)
	if b.meter != nil {
		_, _ = b.meter.Write(p[:n]) // it never fails
	}
	if n > 0 {
		b.call.exchange.Arrived(p[:n], b.arrived)
	}
	if err != nil {
		b.ended, b.whole = true, err == io.EOF
		err = b.explain(err)
	}
	return n, err
}

// read counts the time that the next bytes take. Bytes that are here already take none.
func (b *answerBody) read(p []byte) (int, error) {
	if b.conn.in.Buffered() > 0 {
		return b.ReadCloser.Read(p)
	}
	before := b.gateway.Now()
	n, err := b.ReadCloser.Read(p)
	b.arrived = b.gateway.Now()
	b.call.waited += b.arrived.Sub(before)
	return n, err
}

func (b *answerBody) explain(err error) error {
	if err == io.EOF {
		return err
	}
	row := refuseAnswer
	if isTimeout(err) {
		row = refuseSilent
	}
	b.fault = row.name
	if b.limit.IsZero() && !b.gone() { // the end of draining is no refusal
		b.call.Refusal = row.name // for the log, where the header has left already
	}
	return refuse(row).because(err)
}

// Close drains what is left, within bounds, and lets the connection go.
func (b *answerBody) Close() error {
	if !b.ended {
		if b.limit.IsZero() {
			b.limit = time.Now().Add(b.gateway.drainTime)
		}
		_, _ = io.CopyN(io.Discard, b, drainBytes)
	}
	b.abandon()
	return nil
}

// abandon lets the connection go without reading what is left.
func (b *answerBody) abandon() {
	if b.closed {
		return
	}
	b.closed, b.ended = true, true
	if b.leave != nil && !b.leave() {
		b.reusable = false // a deadline may still be set on it
	}
	b.conn.body = nil
	b.measured()
	b.conn.finish(b.whole && b.reusable, b.arrived)
}
