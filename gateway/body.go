package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/gateway/loads"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
)

const (
	// A body's buffer is pooled. It starts at firstBuffer, and grows to growth times what has arrived until it has the declared
	// length: a client holds no more than growth times what it sent, and few bytes of a body are copied. If the length is not
	// declared, the buffer starts at unknownBuffer and doubles.
	firstBuffer   = 64 << 10
	growth        = 16
	unknownBuffer = 8 << 10
)

var errClientLeft = errors.New("the client left while it was sending the body")

// hasBody reports whether the client sends a body that is not yet known to be empty.
func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// readBody reads the whole body into memory, unless it has been read. It takes the buffer's size from the budget before it makes the
// buffer.
func readBody(w *reply, r *http.Request, s *requestState, lender *wire.Buffers) error {
	if s.bodyEnded {
		return nil
	}
	u := upload{clientBounds: w.bounds, reply: w, state: s, from: r.Body, declared: r.ContentLength, buffers: lender}
	body, err := u.read()
	s.BytesIn = int64(len(body))
	if err != nil {
		w.closes = true
		if isOutOfMemory(err) {
			s.body = body // what has arrived
		}
		return err
	}
	s.body, s.bodyEnded = body, true
	_ = w.control.SetReadDeadline(time.Time{}) // it would also end the wait for the connection's next request
	return nil
}

// upload is one body that is being read.
type upload struct {
	*clientBounds
	reply    *reply
	state    *requestState
	buffers  *wire.Buffers
	from     io.Reader
	declared int64 // -1: unknown
	began    time.Time
}

func (u *upload) read() ([]byte, error) {
	u.began = u.now()
	defer func() { u.state.waited += u.now().Sub(u.began) }()
	buf, err := u.grow(nil)
	if err != nil {
		return nil, err
	}
	for {
		n, err := u.readSome(buf[len(buf):cap(buf)], len(buf))
		buf = buf[:len(buf)+n]
		switch have := int64(len(buf)); {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, u.explain(err, len(buf))
		case have == u.declared, have == u.maxBody:
			return buf, u.end(len(buf))
		case len(buf) == cap(buf):
			larger, err := u.grow(buf)
			if err != nil {
				return buf, err
			}
			buf = larger
		}
	}
}

// end reads the EOF after the last byte that is declared or permitted; the server holds the body open until then.
func (u *upload) end(have int) error {
	var more [1]byte
	switch _, err := io.ReadFull(u.from, more[:]); err {
	case io.EOF:
		return nil
	case nil:
		return refuseTooLarge(u.maxBody)
	default:
		return u.explain(err, have)
	}
}

// readSome reads with a deadline that grows with the bytes so far.
func (u *upload) readSome(p []byte, have int) (int, error) {
	deadline := u.began.Add(u.slowStart + time.Duration(have)*time.Second/slowRate)
	_ = u.reply.control.SetReadDeadline(deadline)
	return u.from.Read(p)
}

// grow returns a larger buffer with the bytes of buf in it. It takes the size from the budget first. The state keeps the pooled
// buffer.
func (u *upload) grow(buf []byte) ([]byte, error) {
	size := min(u.nextSize(int64(cap(buf))), u.maxBody)
	if !u.state.share.Take(size - int64(cap(buf))) {
		return nil, refuseOutOfMemory()
	}
	larger := u.buffers.Lend(size)
	n := copy(larger, buf)
	u.buffers.GiveBack(u.state.lent)
	u.state.lent = larger
	return larger[:n:size], nil
}

func (u *upload) nextSize(size int64) int64 {
	switch {
	case u.declared < 0:
		return max(2*size, unknownBuffer)
	case size == 0:
		return min(firstBuffer, u.declared)
	default:
		return min(growth*size, u.declared)
	}
}

// explain distinguishes a slow client from one that left and one that broke its own framing.
func (u *upload) explain(err error, have int) error {
	u.state.bodyEnded = true
	switch {
	case wire.IsTimeout(err):
		return refusal.New(refusal.Slow).Say("The body came too slowly: given %d bytes so far, allowed no fewer than %d bytes a second after "+
			"the first %s.", have, slowRate, u.slowStart)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refusal.New(refusal.Body).Say("The body ended after %d bytes.", have).Because(errClientLeft)
	default:
		return refusal.New(refusal.Body).Say("The body could not be read: its framing is broken.").Because(err)
	}
}

func refuseTooLarge(limit int64) error {
	return refusal.New(refusal.Large).Say("The body is larger than the %d bytes that one request may have.", limit)
}

func refuseOutOfMemory() error {
	return refusal.New(refusal.Memory).Say("The memory for request bodies is in use; send the request again.").Retry(time.Second)
}

// refuseUnmade refuses a body for lack of memory for the service's request that is made of it.
func refuseUnmade(share *loads.Share) error {
	if all, most := share.Lacks(); all > most {
		return refusal.New(refusal.Large).Say("The body and the service's request that is made of it have together %d bytes, allowed %d.", all,
			most)
	}
	return refuseOutOfMemory()
}

func isOutOfMemory(err error) bool {
	refused, ok := errors.AsType[*refusal.Refusal](err)
	return ok && refused.Row == refusal.Memory
}

// releaseBody releases the memory of a request's body. Nothing may read the body any more: the span of the exchange, which may
// show it, MUST have ended. It may be called more than once.
func releaseBody(b *wire.Buffers, s *requestState) {
	s.exchange.Release()
	b.GiveBack(s.lent)
	s.lent, s.body = nil, nil
	s.share.Keep(0)
}

const (
	// A client must send slowRate bytes a second, measured over the whole body, after the first slowStart, or its request
	// ends with 408: a body that trickles in holds memory and a connection.
	slowStart = wire.SlowStart
	slowRate  = 64 << 10

	// After an answer, the rest of the request's body is read and dropped up to these bounds, so that a client that is still
	// sending can read its answer, and a connection whose body arrived whole can be reused.
	lingerBytes = 64 << 20
	lingerTime  = 2 * time.Second
)

// clientBounds has the bounds for clients: on bytes, and on the time to send and to read.
type clientBounds struct {
	now          func() time.Time
	maxBody      int64         // bytes of a request's body
	writeTimeout time.Duration // of one write to a client
	slowStart    time.Duration // before a slow body is refused; tests shorten it
	lingerTime   time.Duration // for which the rest of a body is dropped; tests shorten it
	draining     *atomic.Bool
	cors         *wire.CORS // which pages may read answers in a browser
}

func newClientBounds(config *Config, now func() time.Time, live *live) *clientBounds {
	return &clientBounds{
		now: now, maxBody: config.MaxBody, writeTimeout: config.WriteTimeout, slowStart: slowStart, lingerTime: lingerTime,
		draining: &live.draining, cors: wire.NewCORS(config.CORSOrigins, wire.Exposed),
	}
}

// leaveBody is called when the answer, usually a refusal, is sent while the body is still arriving and will not be read. By
// default net/http would read the rest of the body first, without a time limit. Full duplex sends the answer first, and a body
// that does not arrive within lingerTime ends the connection.
func (w *reply) leaveBody(now time.Time) {
	_ = w.control.EnableFullDuplex()
	_ = w.control.SetReadDeadline(now.Add(w.bounds.lingerTime))
}

// linger reads and drops the rest of a body after its answer, so that the client reads the answer and no reset connection. It ends
// the connection unless the body arrived whole. Patch versions of net/http differ here: some keep the connection, and read later
// bytes of the body as another request.
func (w *reply) linger(r *http.Request) {
	if w.state.bodyEnded || !w.ended || !w.wrote || !w.alone {
		return
	}
	if r.Header.Get("Expect") == "" { // a client that waits for 100 Continue sends nothing
		_ = w.control.Flush()
		if _, err := io.CopyN(io.Discard, r.Body, lingerBytes); err == io.EOF {
			return
		}
	}
	wire.EndConnection(w.bare)
}
