package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Beginning is when a request begins to work. Before that its connection is idle and may be closed for another, so a client that
// only begins a request, or has no key, keeps no place.
type Beginning int

// The moments at which a request begins to work.
const (
	AfterBody Beginning = iota // when its body has arrived
	AfterKey                   // when [AcceptKey] reports that its key is valid
)

// connectionOf is the key of a request's connection in its context, and workOf that of its work.
type connectionOf struct{}

type workOf struct{}

// work is one request, which may have begun to work on its connection.
type work struct {
	all   *Connections
	conn  net.Conn
	begun atomic.Bool
}

// working counts the requests of a handler that work on their connections. A request that no server read from a connection just runs.
func (c *Connections) working(handler http.Handler, begun Beginning) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, served := r.Context().Value(connectionOf{}).(net.Conn)
		if !served {
			handler.ServeHTTP(w, r)
			return
		}
		one := &work{all: c, conn: conn}
		defer one.end()
		if begun == AfterBody {
			w = &unread{w, one}
		}
		switch {
		case begun == AfterKey:
			r = r.WithContext(context.WithValue(r.Context(), workOf{}, one))
		case r.ContentLength == 0: // over HTTP/2 a request without a body also has a Body
			one.mustBegin()
		default:
			whole := *r
			whole.Body = &wholeBody{r.Body, one}
			r = &whole
		}
		handler.ServeHTTP(w, r)
	})
}

// AcceptKey reports that the request of a context has a valid key. If its connection was closed for another meanwhile, the
// request ends.
func AcceptKey(ctx context.Context) {
	if one, ok := ctx.Value(workOf{}).(*work); ok {
		one.mustBegin()
	}
}

// begin begins the work, once, and reports whether the connection is open.
func (o *work) begin() bool {
	return !o.begun.CompareAndSwap(false, true) || o.all.work(o.conn, 1)
}

func (o *work) mustBegin() {
	if !o.begin() {
		panic(http.ErrAbortHandler) // as watch does; net/http recovers it
	}
}

func (o *work) end() {
	if o.begun.Load() {
		o.all.work(o.conn, -1)
	}
}

// errMadeRoom means that a request's connection was closed for another while its body arrived.
var errMadeRoom = errors.New("the connection was closed for another one")

// wholeBody is a body at whose end the request begins to work.
type wholeBody struct {
	io.ReadCloser
	of *work
}

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.of.begin() {
		err = errMadeRoom
	}
	return n, err
}

// unreadTime is how long a client may leave an answer unread before its connection counts as idle.
const unreadTime = time.Second

// unread is the answer to a request that needs no key. While its client does not read, the request does not work: otherwise a client
// that asks for much and reads nothing would keep a place until a write times out.
type unread struct {
	http.ResponseWriter
	of *work
}

// Unwrap is for [http.ResponseController].
func (u *unread) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Write implements [http.ResponseWriter].
func (u *unread) Write(p []byte) (n int, err error) {
	u.wait(func() { n, err = u.ResponseWriter.Write(p) })
	return n, err
}

// FlushError sends what was written so far.
func (u *unread) FlushError() (err error) {
	u.wait(func() { err = http.NewResponseController(u.ResponseWriter).Flush() })
	return err
}

// wait calls send, which may wait for the client to read.
func (u *unread) wait(send func()) {
	var mu sync.Mutex
	sent, idle := false, false
	late := time.AfterFunc(unreadTime, func() {
		mu.Lock()
		defer mu.Unlock()
		if !sent {
			idle = true
			u.of.all.work(u.of.conn, -1)
		}
	})
	send()
	late.Stop()
	mu.Lock()
	defer mu.Unlock()
	if sent = true; idle {
		u.of.all.work(u.of.conn, 1)
	}
}
