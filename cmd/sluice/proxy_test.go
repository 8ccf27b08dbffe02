package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// tunnelling is a proxy that takes CONNECT with a password, and leads to one address whatever it is asked for.
func tunnelling(t *testing.T, user, password, to string) *httptest.Server {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization")) // BasicAuth reads this one
		if name, given, _ := r.BasicAuth(); r.Method != http.MethodConnect || name != user || given != password {
			http.Error(w, "CANARY of the proxy", http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, "", http.StatusBadGateway)
			return
		}
		in, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = out.Close()
			return
		}
		_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(out, buffered); _ = out.Close() }()
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy
}

// A gateway in a house without a way out of its own serves through the house's proxy. What the proxy refuses is 502 with its status; its
// text and its password show nowhere.
func TestServingThroughTheHousesProxy(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	proxy := tunnelling(t, "sluice", "p@ssCANARY", upstream.Listener.Addr().String())
	host := strings.TrimPrefix(proxy.URL, "http://")
	for about, tt := range map[string]struct {
		password string
		status   int
		says     string
	}{
		"the right password": {"p%40ssCANARY", 200, `"output"`},
		"a wrong password":   {"wrongCANARY", 502, "The proxy on the way to the service refused the connection with status 407; the request was not sent."},
	} {
		t.Run(about, func(t *testing.T) {
			file := write(t, "http://sluice:"+tt.password+"@"+host+"\n")
			h := serving(t, "http://service.example", "SLUICE_UPSTREAM_PROXY_FILE="+file)
			defer h.stop()
			status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText)
			if err != nil || status != tt.status || !strings.Contains(text, tt.says) || strings.Contains(text, "CANARY") {
				t.Errorf("%d %s %v", status, text, err)
			}
			if said := string(h.log.bytes()); strings.Contains(said, "CANARY") {
				t.Error(said)
			}
		})
	}
}
