package upstream

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// holding is a Listener that holds the writing of a body before its first piece.
type holding struct {
	noListener
	began, goOn chan struct{}
	wrote       atomic.Bool
}

func (h *holding) Runs(time.Time) {
	close(h.began)
	<-h.goOn
	h.wrote.Store(true)
}

// A request's body may be used for something else once the exchange has ended, whichever way: what still writes it has stopped.
func TestTheBodyIsReadNoMore(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	for _, tt := range []struct {
		name, answer string
		end          func(*Exchange, *http.Response)
	}{
		{"answered and closed", whole, func(_ *Exchange, answer *http.Response) {
			_, _ = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}},
		{"abandoned", whole, func(x *Exchange, _ *http.Response) { x.Abandon() }},
		{"answered and left open", whole, func(x *Exchange, _ *http.Response) { x.Release() }},
		{"not answered", "", func(*Exchange, *http.Response) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := earlyAnswer(t, tt.answer)
			u := New(Config{URL: base, ConnectTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute, DrainTime: time.Minute,
				Now: time.Now, Surplus: func() {}})
			defer u.Close()
			listener := &holding{began: make(chan struct{}), goOn: make(chan struct{})}
			x := &Exchange{Sent: time.Now(), Client: context.Background(), Listener: listener}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				answer, err := u.RoundTrip(httptest.NewRequest(http.MethodPost, base.String(), bytes.NewReader(make([]byte, 8<<20))).
					WithContext(WithExchange(context.Background(), x)))
				if (err == nil) != (tt.answer != "") {
					t.Error("Do: ", err)
					return
				}
				tt.end(x, answer)
				if !listener.wrote.Load() {
					t.Error("the exchange ended while the body was being written")
				}
			}()
			<-listener.began
			select {
			case <-ended:
			case <-time.After(50 * time.Millisecond): // time for the fault to show
			}
			close(listener.goOn)
			<-ended
			x.Release()
			x.Release()
		})
	}
}

// earlyAnswer is a service that answers each request with only a head; empty: it closes the connection instead.
func earlyAnswer(t *testing.T, answer string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			from := bufio.NewReader(conn)
			for line := ""; line != "\r\n" && err == nil; {
				line, err = from.ReadString('\n')
			}
			if _, _ = io.WriteString(conn, answer); answer == "" {
				_ = conn.Close()
			} else {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}
