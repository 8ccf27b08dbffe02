package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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
		"a wrong password": {"wrongCANARY", 502, "The proxy on the way to the service refused the connection with status 407; the request " +
			"was not sent."},
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

// Telemetry reaches its collector directly, whatever proxy the environment names.
func TestTheEnvironmentsProxyGetsNoTelemetry(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			proxy, collector := newDoor(t), newDoor(t)
			way := "http://" + proxy.address
			serve := exec.Command("sluice", "serve")
			said := newTranscript()
			serve.Stdout, serve.Stderr = said, said
			serve.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HTTP_PROXY=" + way, "HTTPS_PROXY=" + way, "http_proxy=" + way, "https_proxy=" + way,
				"SLUICE_UPSTREAM_URL=http://127.0.0.1:1/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
				"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_LISTEN=off",
				"OTEL_METRICS_EXPORTER=otlp", "OTEL_METRIC_EXPORT_INTERVAL=100", "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
				// libraries never use a proxy for 127.0.0.1
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + strings.Replace(collector.address, "127.0.0.1", "0.0.0.0", 1),
			}
			must(t, serve.Start())
			defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
			select {
			case <-collector.came:
			case <-proxy.came:
				t.Error("the proxy got the telemetry")
			case <-time.After(patience):
				t.Errorf("nothing was sent:\n%s", said.bytes())
			}
		})
	}
}

// door is a listener that reports its first connection.
type door struct {
	address string
	came    chan struct{} // closed at the first connection
}

func newDoor(t *testing.T) door {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	d := door{listener.Addr().String(), make(chan struct{})}
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
		close(d.came)
	}()
	return d
}
