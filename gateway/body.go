package gateway

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// A client must keep up slowRate bytes a second, measured over the whole body, after the first slowStart, or its
	// request ends with 408: a body that drips holds memory and a connection.
	slowStart = 10 * time.Second
	slowRate  = 64 << 10

	// What is left of a body once its request is answered is read and dropped up to these bounds, so that a client that
	// is still sending can read its answer, and a connection whose body came whole can go on.
	lingerBytes = 64 << 20
	lingerTime  = 2 * time.Second

	// A body's buffer starts at firstBuffer and goes on to secondBuffer before it takes what the client declared: a
	// client holds memory only after it has sent something, and a large body is copied over at most once in part.
	// Where it declared nothing, the buffer starts at unknownBuffer and doubles.
	firstBuffer   = 64 << 10
	secondBuffer  = 1 << 20
	unknownBuffer = 8 << 10
)

var errClientGone = errors.New("the client left while it was sending the body")

// hasBody reports whether the client sends a body that is not yet known to be empty.
func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// readBody reads the whole body into memory, once. The buffer's size is taken from the budget before it is made.
func (g *Gateway) readBody(w *reply, r *http.Request, c *call) error {
	if !hasBody(r) {
		return nil
	}
	u := upload{gateway: g, reply: w, call: c, from: r.Body, declared: r.ContentLength}
	body, err := u.read()
	c.BytesIn = int64(len(body))
	if err != nil {
		w.closes = true
		return err
	}
	c.body, c.ended = body, true
	_ = w.control.SetReadDeadline(time.Time{}) // or the wait for the next request on the connection would end with it
	return nil
}

// upload is one body on its way in.
type upload struct {
	gateway  *Gateway
	reply    *reply
	call     *call
	from     io.Reader
	declared int64 // -1: unknown
	began    time.Time
}

func (u *upload) read() ([]byte, error) {
	u.began = u.gateway.deps.Now()
	defer func() { u.call.waited += u.gateway.deps.Now().Sub(u.began) }()
	buf, err := u.grow(nil)
	if err != nil {
		return nil, err
	}
	for {
		n, err := u.readSome(buf[len(buf):cap(buf)], len(buf))
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > u.gateway.config.MaxBody:
			return buf, refuseTooLarge(u.gateway.config.MaxBody)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, u.explain(err, len(buf))
		case int64(len(buf)) == u.declared:
			return buf, u.end()
		case len(buf) == cap(buf):
			if buf, err = u.grow(buf); err != nil {
				return nil, err
			}
		}
	}
}

// end takes the EOF that net/http gives behind the declared last byte; until it is read the server holds the body open.
func (u *upload) end() error {
	var one [1]byte
	if _, err := u.from.Read(one[:]); err != nil && err != io.EOF {
		return u.explain(err, int(u.declared))
	}
	return nil
}

// readSome reads with a deadline that moves on with what has come.
func (u *upload) readSome(p []byte, have int) (int, error) {
	deadline := u.began.Add(u.gateway.slowStart + time.Duration(have)*time.Second/slowRate)
	_ = u.reply.control.SetReadDeadline(deadline)
	return u.from.Read(p)
}

// grow returns a larger buffer with the bytes of buf in it. Its size is taken from the budget first.
func (u *upload) grow(buf []byte) ([]byte, error) {
	size := min(u.nextSize(int64(cap(buf))), u.gateway.config.MaxBody+1) // one more byte tells that it is too large
	if !u.call.taken.take(size - int64(cap(buf))) {
		return nil, refuseOutOfMemory()
	}
	return append(make([]byte, 0, size), buf...), nil
}

func (u *upload) nextSize(size int64) int64 {
	switch {
	case u.declared < 0:
		return max(2*size, unknownBuffer)
	case size == 0:
		return min(firstBuffer, u.declared)
	case size < secondBuffer:
		return min(secondBuffer, u.declared)
	default:
		return u.declared
	}
}

// explain tells a client that was slow from one that broke its own framing and one that left.
func (u *upload) explain(err error, have int) error {
	u.call.ended = true
	switch {
	case isTimeout(err):
		return refuse(refuseSlow).say("The body came too slowly: %d bytes so far; at least %d bytes a second are needed after the first %s.", have, slowRate, u.gateway.slowStart)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(refuseBody).say("The body ended after %d bytes.", have).because(errClientGone)
	default:
		return refuse(refuseBody).say("The body could not be read: its framing is broken.").because(err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func refuseTooLarge(limit int64) error {
	return refuse(refuseLarge).say("The body is larger than the %d bytes that one request may have.", limit)
}

// leaveBody is called when the header leaves before the body has come: no stage will read it any more. net/http drops
// what is left of it before it lets the header go, and without an end in time. Here the answer goes first (what full
// duplex means), and what has not come within lingerTime ends the connection.
func (w *reply) leaveBody(now time.Time) {
	_ = w.control.EnableFullDuplex()
	_ = w.control.SetReadDeadline(now.Add(w.gateway.lingerTime))
}

// linger reads and drops what a refused client is still sending, more of it than net/http would, so that the client can
// read its answer instead of a reset connection. A client that waits for 100 Continue has sent nothing and will not.
func (w *reply) linger(r *http.Request) {
	if !w.lingers || !w.alone || r.Header.Get("Expect") != "" {
		return
	}
	_ = w.control.Flush()
	_, _ = io.CopyN(io.Discard, r.Body, lingerBytes)
}
