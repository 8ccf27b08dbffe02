package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// clientOf is a Client of a service at an address, without bounds that a test could meet.
func clientOf(t *testing.T, address string) *Client {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u := New(Config{URL: base, ConnectTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute, DrainTime: time.Minute,
		Now: time.Now, Surplus: func() {}})
	t.Cleanup(u.Close)
	return u
}

// A plain http.Client works with the transport: bodies of every size are sent and received, connections are reused, and a
// redirect to another host is not followed, because the header may hold the key.
func TestTheTransportServesAPlainClient(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
			return
		}
		if r.URL.Path == "/here" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: clientOf(t, server.URL), Timeout: time.Minute}
	most := int64(1)
	for _, path := range []string{"/", "/here"} {
		for _, size := range []int{0, 1, InlineBody, InlineBody + 1, 3 << 20} {
			sent := bytes.Repeat([]byte("x"), size)
			answer, err := client.Post(server.URL+path, "text/plain", bytes.NewReader(sent))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(answer.Body)
			if _ = answer.Body.Close(); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%s, %d bytes: %d came back: %v", path, size, len(got), err)
			}
			if n, err := answer.Body.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("a closed body gives %d bytes, %v", n, err)
			}
			if path == "/here" || size > InlineBody {
				most++ // an early redirect may end one, and so may an answer that comes before the writing of a large body is seen to end
			}
			if n := connections.Load(); n > most {
				t.Errorf("%d connections for requests one after another", n)
			}
		}
	}
	if _, err := client.Get(server.URL + "/elsewhere"); !errors.Is(err, errOtherHost) {
		t.Errorf("a redirect to another host: %v", err)
	}
}

// A bound of an exchange is one for all of it: connecting, the wait for the header, and the body.
func TestALimitIsOfTheWholeExchange(t *testing.T) {
	const limit = time.Second
	silent, err := net.Listen("tcp", "127.0.0.1:0") // no handshake ends
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	drips := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(limit * 9 / 10)
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(limit / 20)
		}
	}))
	defer drips.Close()
	for address, want := range map[string]Failure{"https://" + silent.Addr().String(): Unreachable, drips.URL: Silent} {
		begun := time.Now()
		x := &Exchange{Sent: begun, Client: t.Context(), Uncut: true, Limit: limit, Listener: noListener{}}
		out, _ := http.NewRequestWithContext(WithExchange(t.Context(), x), http.MethodGet, address, nil)
		answer, err := clientOf(t, address).RoundTrip(out)
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		fault, _ := errors.AsType[*Error](err)
		if took := time.Since(begun); fault == nil || fault.Failure != want || took > limit*18/10 { // with one for each: 1.9
			t.Errorf("%s: %v after %v", address, err, took)
		}
	}
}

// followed is a request's body that counts its closes.
type followed struct {
	io.Reader
	closed chan struct{}
}

func (f *followed) Close() error { f.closed <- struct{}{}; return nil }

// A transport closes the body of every request once, however the request ends, and changes nothing of the request.
func TestTheBodyIsClosedOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name          string
		address, path string
		length, size  int64 // announced, and of the body
		ctx           context.Context
		fails         bool
	}{
		{name: "small", length: 10, size: 10},
		{name: "large", length: 1 << 20, size: 1 << 20},
		{name: "large, and the service ends the connection", path: "/lost", length: 8 << 20, size: 8 << 20, fails: true},
		{name: "small, and the service ends the connection", path: "/lost", length: 10, size: 10, fails: true},
		{name: "nothing listens", address: gone.URL, length: 10, size: 10, fails: true},
		{name: "another host", path: "//192.0.2.1/", length: 10, size: 10, fails: true},
		{name: "no length", length: -1, size: 10, fails: true},
		{name: "a length that was not set", size: 10, fails: true},
		{name: "small and too short", length: 10, size: 9, fails: true},
		{name: "large and too short", length: 1 << 20, size: 1<<20 - 1, fails: true},
		{name: "canceled before", length: 10, size: 10, ctx: canceled, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.address == "" {
				tt.address = server.URL
			}
			if tt.ctx == nil {
				tt.ctx = t.Context()
			}
			u := clientOf(t, tt.address)
			u.config.HeaderTimeout = time.Second // the service waits for what is missing of a body
			body := &followed{io.LimitReader(zeros{}, tt.size), make(chan struct{}, 9)}
			target := tt.address + tt.path
			if strings.HasPrefix(tt.path, "//") {
				target = "http:" + tt.path
			}
			out, err := http.NewRequestWithContext(tt.ctx, http.MethodPost, target, body)
			if err != nil {
				t.Fatal(err)
			}
			out.ContentLength = tt.length
			out.Header.Set("Connection", "close") // another transport's; it is not sent
			before := out.Clone(out.Context())
			answer, err := u.RoundTrip(out)
			if (err != nil) != tt.fails {
				t.Errorf("the error is %v", err)
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			<-body.closed
			if before.Body = out.Body; !reflect.DeepEqual(out, before) {
				t.Errorf("the request was changed to %+v, it was %+v", out, before)
			}
			if len(body.closed) > 0 {
				t.Error("the body was closed more than once")
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A body that is longer than announced sends no more than that: the service would read the rest as another request.
func TestABodyIsNotLongerThanAnnounced(t *testing.T) {
	for _, length := range []int64{10, 1 << 20} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		u := clientOf(t, server.URL)
		u.config.HeaderTimeout = 50 * time.Millisecond
		out := httptest.NewRequest(http.MethodPost, server.URL, io.NopCloser(bytes.NewReader(make([]byte, 2<<20))))
		out.ContentLength = length
		if answer, err := u.RoundTrip(out); err == nil {
			_ = answer.Body.Close()
		}
		server.Close()
		if n := requests.Load(); n > 1 {
			t.Errorf("%d of %d bytes: the service read %d requests", length, 2<<20, n)
		}
	}
}

// The end of a request's context ends the exchange immediately, wherever it is, and is the error.
func TestTheContextEndsTheExchange(t *testing.T) {
	reached := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/begun" {
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
		}
		reached <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	for _, path := range []string{"/silent", "/begun"} {
		for _, size := range []int{0, 10, 1 << 20} {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			out, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, bytes.NewReader(make([]byte, size)))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := clientOf(t, server.URL).RoundTrip(out)
			if err == nil && path == "/begun" {
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s with %d bytes ended with %v", path, size, err)
			}
		}
	}
	client := &http.Client{Transport: clientOf(t, server.URL), Timeout: 50 * time.Millisecond}
	if _, err := client.Get(server.URL + "/silent"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a client's timeout: %v", err)
	}
}

// A request of which no byte has left goes out once more, with its body from memory; without GetBody a body that was read cannot. A
// request of which a byte has left never goes out again.
func TestARequestIsSentAgainOnlyIfNoByteHasLeft(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests.Add(1); r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	for _, tt := range []struct {
		name, path string
		broken     bool // the idle connection
		forgotten  bool // GetBody
		size       int
		arrives    int64
		failure    Failure
		ok         bool
	}{
		{name: "no byte left", broken: true, size: 10, arrives: 1, ok: true},
		{name: "no byte of a large one left", broken: true, size: 1 << 20, arrives: 1, ok: true},
		{name: "no body", broken: true, arrives: 1, ok: true},
		{name: "its body was read", broken: true, forgotten: true, size: 10, failure: Unreachable},
		{name: "its large body was not read", broken: true, forgotten: true, size: 1 << 20, arrives: 1, ok: true},
		{name: "bytes left", path: "/lost", size: 10, arrives: 1, failure: Lost},
		{name: "bytes of a large one left", path: "/lost", size: 1 << 20, arrives: 1, failure: Lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := clientOf(t, server.URL)
			if answer, err := u.RoundTrip(httptest.NewRequest(http.MethodGet, server.URL, nil)); err != nil {
				t.Fatal(err)
			} else {
				_ = answer.Body.Close()
			}
			requests.Store(0)
			if tt.broken {
				u.pool.breakIdle()
			}
			sent := bytes.Repeat([]byte("x"), tt.size)
			out, err := http.NewRequest(http.MethodPost, server.URL+tt.path, bytes.NewReader(sent))
			if err != nil {
				t.Fatal(err)
			}
			if tt.forgotten {
				out.GetBody = nil
			}
			answer, err := u.RoundTrip(out)
			if fault, _ := errors.AsType[*Error](err); (err == nil) != tt.ok || err != nil && fault.Failure != tt.failure {
				t.Fatalf("the error is %v", err)
			}
			if tt.ok {
				got, err := io.ReadAll(answer.Body)
				if _ = answer.Body.Close(); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("the service read %d bytes: %v", len(got), err)
				}
			}
			if n := requests.Load(); n != tt.arrives {
				t.Errorf("the service read %d requests", n)
			}
		})
	}
}

// If a write fails before a byte has left, the second try uses a new connection, whatever idle ones there are: they may
// have the same fault.
func TestTheSecondTryIsOnANewConnection(t *testing.T) {
	const waiting = 3
	together := make(chan struct{})
	arrived := make(chan struct{}, waiting)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-together
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	u := clientOf(t, server.URL)
	ask := func() error {
		out, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		answer, err := u.RoundTrip(out)
		if err != nil {
			return err
		}
		_, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return err
	}
	asked := make(chan error, waiting)
	for range waiting {
		go func() { asked <- ask() }()
	}
	for range waiting {
		<-arrived
	}
	close(together)
	for range waiting {
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
	}
	if n := u.pool.breakIdle(); n != waiting {
		t.Fatalf("%d connections wait", n)
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
}

// breakIdle makes writes on the idle connections fail, which no check shows, and returns their number.
func (p *pool) breakIdle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.Conn = mute{c.Conn}
	}
	return len(p.idle)
}

// mute is a connection on which no write succeeds.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A connection carries the next request if its answer is whole, but not if the client left while it was read: a deadline may be
// set on it.
func TestAConnectionIsUsedAgainIfNobodyLeft(t *testing.T) {
	for _, left := range []bool{false, true} {
		more := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = w.Write([]byte("a"))
			_ = http.NewResponseController(w).Flush()
			<-more
			_, _ = w.Write([]byte("b"))
		}))
		u := clientOf(t, server.URL)
		client, leave := context.WithCancel(t.Context())
		x := &Exchange{Sent: time.Now(), Client: client, Listener: &leaving{leave: func() {
			if left {
				leave()
			}
			close(more)
		}}}
		out, err := http.NewRequestWithContext(WithExchange(t.Context(), x), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := u.RoundTrip(out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || string(got) != "ab" || !x.Whole {
			t.Errorf("%q, %v", got, err)
		}
		if again := len(u.pool.idle) == 1; again == left {
			t.Errorf("the client left: %v; the connection is used again: %v", left, again)
		}
		leave()
		server.Close()
	}
}

// leaving is a listener that does something at the first wait for the body.
type leaving struct {
	noListener
	leave func()
	once  sync.Once
}

func (l *leaving) Runs(time.Time) { l.once.Do(l.leave) }
