package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// deaf is a listener that never accepts.
type deaf struct{}

func (deaf) Runs(time.Time) {}
func (deaf) Heard([]byte)   {}
func (deaf) Ended()         {}

// If a write fails before a byte has left, the second try uses a new connection, whatever idle ones there are: they may
// have the same fault.
func TestMend16SecondTryIsOnANewConnection(t *testing.T) {
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
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u := New(Config{URL: base, ConnectTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute, DrainTime: time.Minute, Now: time.Now, Surplus: func() {}})
	defer u.Close()
	ask := func() error {
		out := &http.Request{Method: http.MethodPost, URL: base, Header: http.Header{}}
		answer, err := u.Do(out, &Exchange{Body: []byte("{}"), Sent: time.Now(), Client: context.Background(), Listener: deaf{}})
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
		_ = c.wire.CloseWrite()
	}
	return len(p.idle)
}
