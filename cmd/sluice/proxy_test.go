package main

import (
	"strings"
	"testing"

	"sluice/gateway/simulator"
	"sluice/gateway/upstream/upstreamtest"
)

// A gateway in a house without a way out of its own serves through the house's proxy. What the proxy refuses is 502 with its status; its
// text and its password show nowhere.
func TestServingThroughTheHousesProxy(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	proxy := upstreamtest.NewProxy(t, upstream.Listener.Addr().String(), false)
	proxy.User = "sluice:p@ssCANARY"
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
