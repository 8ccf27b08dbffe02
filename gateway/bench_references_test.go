package gateway_test

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"sluice/gateway"
	"sluice/gateway/upstream"
)

// bareProxy is the reference: a ReverseProxy on a tuned Transport of net/http.
func bareProxy() http.Handler {
	return reverseProxy(&http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second,
		ResponseHeaderTimeout: settings().HeaderTimeout, WriteBufferSize: 8 << 10, ReadBufferSize: 8 << 10,
	})
}

// ownProxy is the second reference: the same proxy over the gateway's own way to the service, so that the rest of the
// difference is what the stages cost.
func ownProxy() http.Handler {
	config := settings()
	return reverseProxy(&ownTransport{upstream.New(upstream.Config{
		URL: benchBase(), ConnectTimeout: config.ConnectTimeout, HeaderTimeout: config.HeaderTimeout, IdleTimeout: config.IdleTimeout,
		DrainTime: 30 * time.Second, Now: time.Now, Surplus: func() {},
	})})
}

func reverseProxy(transport http.RoundTripper) http.Handler {
	base := benchBase()
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host})
			pr.Out.Header.Set("Authorization", "Bearer upstream")
		},
		Transport: transport, BufferPool: gateway.NewBufferPool(),
	}
}

// ownTransport reads a request's body into memory, as the gateway does, and exchanges it.
type ownTransport struct{ client *upstream.Client }

func (t *ownTransport) RoundTrip(out *http.Request) (*http.Response, error) {
	x := &upstream.Exchange{Sent: time.Now(), Client: out.Context(), Listener: deaf{}}
	if out.Body != nil {
		x.Body = make([]byte, out.ContentLength)
		if _, err := io.ReadFull(out.Body, x.Body); err != nil {
			return nil, err
		}
	}
	for name, values := range out.Header {
		for _, value := range values {
			x.Header = append(x.Header, upstream.Field{Name: name, Value: value})
		}
	}
	return t.client.Do(out, x)
}

type deaf struct{}

func (deaf) Runs(time.Time) {}
func (deaf) Heard([]byte)   {}
func (deaf) Ended()         {}

// serverAlone answers what the service would: what is left is net/http's own part of a request.
func serverAlone(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header()["Content-Type"], w.Header()["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(benchJSON))}
	_, _ = w.Write(benchJSON)
}
