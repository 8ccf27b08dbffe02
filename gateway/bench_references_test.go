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
	return reverseProxy(upstream.New(upstream.Config{
		URL: benchBase(), ConnectTimeout: config.ConnectTimeout, HeaderTimeout: config.HeaderTimeout, IdleTimeout: config.IdleTimeout,
		DrainTime: 30 * time.Second, Now: time.Now, Surplus: func() {},
	}))
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

// serverAlone answers what the service would: what is left is net/http's own part of a request.
func serverAlone(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header()["Content-Type"], w.Header()["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(benchJSON))}
	_, _ = w.Write(benchJSON)
}
