package hooks

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/gateway/upstream"
	"sluice/gateway/upstream/upstreamtest"
	"sluice/policy/event"
)

const otherSecret = "whsec_" + "c2x1aWNlLXNsdWljZS1zbHVpY2Utc2x1aWNlLTAx"

// receiver is a hook over TLS and real sockets, at the names of httptest's certificate.
type receiver struct {
	server *httptest.Server
	port   string
	asked  atomic.Int32
}

func newReceiver(t testing.TB, handler http.HandlerFunc) *receiver {
	r := &receiver{}
	r.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.asked.Add(1)
		handler(w, request)
	}))
	t.Cleanup(r.server.Close)
	_, r.port, _ = net.SplitHostPort(r.server.Listener.Addr().String())
	return r
}

// poster may post on this machine, whatever names lead to it.
func (r *receiver) poster(t testing.TB, secrets map[string]string, leads ...string) *Poster {
	pool := x509.NewCertPool()
	pool.AddCert(r.server.Certificate())
	return NewPoster(PosterConfig{
		Secret: func(path string) (upstream.Secret, error) {
			if text, ok := secrets[path]; ok {
				return upstream.Secret(text), nil
			}
			return "", errors.New("no such file")
		},
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Now: time.Now,
		Tunnel: &upstream.Tunnel{Roots: func() *x509.CertPool { return pool }}, Resolver: upstreamtest.Resolver(t, leads...),
	})
}

func (r *receiver) hook(secrets ...string) *event.Hook {
	return &event.Hook{ID: "jobs", URL: "https://a.example.com:" + r.port + "/hook?CANARY", Secrets: secrets}
}

func anEvent() *event.Event {
	return &event.Event{
		ID: event.ID{Owner: "search", Millis: 1764172800000, Number: 7}, Type: event.TaskSucceeded, Time: time.UnixMilli(1764172800000),
		Team: "search",
		Data: []byte(`{"task_id":"t1","images":2}`),
	}
}

// What a receiver gets verifies with the reference library, by either of two secrets, and the body is the event's very bytes.
func TestDeliveriesVerify(t *testing.T) {
	type got struct {
		header http.Header
		body   []byte
	}
	gets := make(chan got, 1)
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		gets <- got{request.Header, body}
		_, _ = io.WriteString(w, "taken")
	})
	p := r.poster(t, map[string]string{"a": testSecret, "b": otherSecret}, "127.0.0.1")
	for _, secrets := range [][]string{{"a"}, {"b", "a"}, {"b"}} {
		answer, err := p.Post(t.Context(), r.hook(secrets...), anEvent(), "")
		if err != nil || answer.Code != 200 || string(answer.Text) != "taken" {
			t.Fatalf("%+v, %v", answer, err)
		}
		g := <-gets
		for name, secret := range map[string]string{"a": testSecret, "b": otherSecret} {
			wh, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			listed := strings.Contains(strings.Join(secrets, ""), name)
			if err := wh.Verify(g.body, g.header); (err == nil) != listed {
				t.Errorf("signed with %v, verified with %s: %v", secrets, name, err)
			}
		}
		if string(g.body) != string(anEvent().Bytes()) || g.header.Get("Content-Type") != "application/json" ||
			g.header.Get(headerID) != anEvent().ID.String() {
			t.Errorf("%v %s", g.header, g.body)
		}
	}
}

// A secret is read at each try: a new content counts at once. One that is no secret is told without its content.
func TestSecretsAreReadAtEachTry(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	secrets := map[string]string{}
	p := r.poster(t, secrets, "127.0.0.1")
	for _, content := range []string{"", "CANARY", "whsec_CANARY", "whsec_c2hvcnQ=", testSecret} {
		if secrets["a"] = content; content == "" {
			delete(secrets, "a")
		}
		_, err := p.Post(t.Context(), r.hook("a"), anEvent(), "")
		if (err == nil) != (content == testSecret) || err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// A name that leads inside is not connected to, whatever it leads to next.
func TestTheAddressBehindANameIsJudged(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	for about, tt := range map[string]struct {
		leads []string
		want  bool
	}{
		"to an allowed network":                    {[]string{"127.0.0.1"}, true},
		"to metadata":                              {[]string{"169.254.169.254"}, false},
		"to Azure's":                               {[]string{"168.63.129.16"}, false},
		"to a private one":                         {[]string{"10.1.2.3"}, false},
		"inside first and to the receiver next":    {[]string{"192.168.1.1", "127.0.0.1"}, false},
		"to the receiver first and inside from it": {[]string{"127.0.0.1", "10.0.0.1"}, true},
		"nowhere":                                  {nil, false},
	} {
		before := r.asked.Load()
		_, err := r.poster(t, map[string]string{"a": testSecret}, tt.leads...).Post(t.Context(), r.hook("a"), anEvent(), "")
		if (err == nil) != tt.want || (r.asked.Load() > before) != tt.want || err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// hosts are spellings of addresses, and whether each is one that hooks may be at.
var hosts = map[string]bool{
	"93.184.215.14": true, "[2606:4700::1111]": true, "jobs.example": true, "a.0xyz": true, "1.2.3.example": true,

	"127.0.0.1": false, "127.1.2.3": false, "0.0.0.0": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false,
	"100.64.0.1":      false,
	"169.254.169.254": false, "168.63.129.16": false, "224.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false, "198.18.0.1": false,
	"[::1]": false, "[::]": false, "[fe80::1]": false, "[fd00::1]": false, "[fd00:ec2::254]": false, "[ff02::1]": false,
	"[::ffff:127.0.0.1]": false, "[::ffff:7f00:1]": false, "[::127.0.0.1]": false, "[64:ff9b::7f00:1]": false, "[2002:7f00:1::]": false,
	"2130706433": false, "0x7f000001": false, "0x7f.1": false, "0177.0.0.1": false, "127.1": false, "017700000001": false,
	"127.0.0.1.": false, "0x7f.0.0.0x1": false,
}

// Every spelling of an address that is not public is a fault of check, and no try connects to it.
func TestEverySpellingOfAPrivateAddressIsRefused(t *testing.T) {
	secret := func(string) (upstream.Secret, error) { return testSecret, nil }
	for host, want := range hosts {
		h := event.Hook{ID: "jobs", URL: "https://" + host + "/hook", Secrets: []string{"a"}, Insecure: true}
		if !event.IsHookURL(h.URL, true) {
			t.Errorf("%s is no address at all", host)
		}
		if faults := faultsOf(&h, &PosterConfig{Secret: secret}); (faults == nil) != want {
			t.Errorf("%s: %v", host, faults)
		}
		if want {
			continue
		}
		p := NewPoster(PosterConfig{Secret: secret, Now: time.Now})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if a, err := p.Post(ctx, &h, anEvent(), ""); err == nil || ctx.Err() != nil {
			t.Errorf("%s answers %d, %v", host, a.Code, err)
		}
		cancel()
	}
	open := event.Hook{ID: "jobs", URL: "http://127.0.0.1/", Kind: event.Slack}
	if faults := faultsOf(&open, &PosterConfig{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}); faults != nil {
		t.Error(faults)
	}
}

// A redirect is an answer that is not 2xx: nothing follows it, and so it is tried again later.
func TestRedirectsAreNotFollowed(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer inside.Close()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", inside.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	a, err := r.poster(t, map[string]string{"a": testSecret}, "127.0.0.1").Post(t.Context(), r.hook("a"), anEvent(), "")
	if err != nil || a.Code != http.StatusTemporaryRedirect {
		t.Errorf("%+v, %v", a, err)
	}
}

// An endless answer is read to 4 KiB, and its status counts.
func TestEndlessAnswersAreCut(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	a, err := r.poster(t, map[string]string{"a": testSecret}, "127.0.0.1").Post(t.Context(), r.hook("a"), anEvent(), "")
	if err != nil || a.Code != 200 || len(a.Text) != mostAnswer {
		t.Errorf("%d, %d bytes, %v", a.Code, len(a.Text), err)
	}
}

// Why no answer came is told in fixed words: what the other side sent is not in them, nor is the path of the address.
func TestWhatCameBackIsNotTold(t *testing.T) {
	says := func(text string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	p := NewPoster(PosterConfig{Now: time.Now, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Resolver: upstreamtest.Resolver(t, "10.0.0.1")})
	for _, tt := range []struct {
		url  string
		want error
	}{
		{"http://" + says("220 CANARY ESMTP\r\n"), errNotHTTP},
		{"http://" + says("HTTP/1.1 999999 CANARY\r\n\r\n"), errNotHTTP},
		{"http://" + says("HTTP/1.1 200 OK\r\nCANARY\r\n\r\n"), errNotHTTP},
		{"http://" + says("HTTP/1.1 302 Found\r\nLocation: http://[CANARY\r\nContent-Length: 0\r\n\r\n"), nil},
		{"http://" + says(""), errCut},
		{"https://" + says("CANARY, no TLS"), errNoTLS},
		{"http://127.0.0.1:1", errRefused},
		{"https://inside.example", errInside},
	} {
		h := &event.Hook{ID: "chat", URL: tt.url + "/CANARY", Kind: event.Slack, Insecure: true}
		a, err := p.Post(t.Context(), h, anEvent(), "")
		if err != tt.want || err == nil && a.Code != http.StatusFound {
			t.Errorf("%s: %+v, %v, want %v", tt.url, a, err, tt.want)
		}
	}
	nowhere := NewPoster(PosterConfig{Now: time.Now, Resolver: upstreamtest.Resolver(t)})
	if _, err := nowhere.Post(t.Context(), &event.Hook{URL: "https://a.example/", Kind: event.Slack}, anEvent(), ""); err != errNoName {
		t.Error(err)
	}
}

// dripping is a body that gives a byte a second, for ever.
type dripping struct{ ctx context.Context }

func (d dripping) Read(b []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(time.Second):
		b[0] = 'x'
		return 1, nil
	}
}

func (dripping) Close() error { return nil }

type drips struct{}

func (drips) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: dripping{r.Context()}, Header: http.Header{}}, nil
}

// A slow body holds a try for 10 s at most, and the status counts.
func TestSlowBodiesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPoster(PosterConfig{Now: time.Now})
		p.transport = drips{}
		began := time.Now()
		a, err := p.Post(t.Context(), &event.Hook{URL: "https://a.example", Kind: event.Slack}, anEvent(), "")
		if err != nil || a.Code != 200 || time.Since(began) > patience {
			t.Errorf("%d, %v after %v", a.Code, err, time.Since(began))
		}
	})
}

// A proxy of the environment would connect to addresses that the guard does not see.
func TestNoProxyIsUsed(t *testing.T) {
	transport := NewPoster(PosterConfig{Now: time.Now}).transport.(*http.Transport)
	if transport.Proxy != nil {
		t.Error("a proxy of the environment is used")
	}
}

func TestCertificatesOfReceiversAreVerified(t *testing.T) {
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	p := r.poster(t, map[string]string{"a": testSecret}, "127.0.0.1")
	h := r.hook("a")
	h.URL = "https://other.example:" + r.port
	if _, err := p.Post(t.Context(), h, anEvent(), ""); err == nil || r.asked.Load() > 0 {
		t.Errorf("a certificate of another name is taken: %v", err)
	}
}
