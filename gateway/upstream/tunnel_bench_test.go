//go:build unix

package upstream

import (
	"bufio"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/upstream/upstreamtest"
)

// What this binary is, run again by a benchmark, and where that leads to.
const envPart, envTo = "UPSTREAM_TEST_PART", "UPSTREAM_TEST_TO"

func TestMain(m *testing.M) {
	if part := os.Getenv(envPart); part != "" {
		servePart(part, os.Getenv(envTo))
		return
	}
	os.Exit(m.Run())
}

// servePart is a process of its own: the service, a proxy, or a relay that passes bytes on and knows nothing of them. It prints its
// address, and ends with its standard input.
func servePart(part, to string) {
	var listener net.Listener
	if part == "service" {
		listener = httptest.NewTLSServer(serve([]byte("served"))).Listener
	} else {
		var err error
		if listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
			panic(err)
		}
	}
	switch part {
	case "proxy":
		go func() { _ = http.Serve(listener, &upstreamtest.Proxy{To: to}) }()
	case "relay":
		go relay(listener, to)
	}
	_, _ = fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func relay(listener net.Listener, to string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
		if err != nil {
			panic(err)
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}

// startPart starts one, and returns its address.
func startPart(b *testing.B, part, to string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envPart+"="+part, envTo+"="+to)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkTunnel is a request on a kept connection with TLS to the service: directly, through a relay that only passes bytes on, and
// through a proxy. Each is a process of its own, so cpu-ns/op is what a request takes here.
func BenchmarkTunnel(b *testing.B) {
	certificate := httptest.NewTLSServer(nil) // the same as each has
	b.Cleanup(certificate.Close)
	service := startPart(b, "service", "")
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate.Certificate())
	direct := &Tunnel{Roots: func() *x509.CertPool { return trusted }}
	tunnel := tunnelBy(b, "http://"+startPart(b, "proxy", service), "", certificate.Certificate())
	for _, tt := range []struct {
		about, service string
		tunnel         *Tunnel
	}{
		{"direct", "https://" + service, direct},
		{"relay", "https://" + startPart(b, "relay", service), direct},
		{"proxy", "https://example.com", tunnel},
	} {
		client := through(b, tt.service, tt.tunnel)
		b.Run(tt.about, func(b *testing.B) {
			request := func() {
				if _, err := ask(b, client, tt.service+"/a"); err != nil {
					b.Fatal(err)
				}
			}
			request() // connects
			before := ownCPU()
			for b.Loop() {
				request()
			}
			b.ReportMetric(float64(ownCPU()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
