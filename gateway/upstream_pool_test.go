package gateway_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// An upstream that sends bytes without a request, and one that closes silently.

// marked is a text request with a mark that the answer repeats.
func marked(i int) string { return strings.Replace(textBody, "rivers", fmt.Sprintf("mark-%d-", i), 1) }

// unasked is an answer that belongs to no request.
const unasked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"output\":{\"text\":\"no\"}}"

// echo answers with the request's mark, in length bytes with the header; 0: as many as it takes.
func echo(in *bufio.Reader, length int) (string, bool) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return "", false
	}
	body, _ := io.ReadAll(r.Body)
	_, mark, _ := strings.Cut(string(body), "mark-")
	mark, _, _ = strings.Cut(mark, "-")
	text := fmt.Sprintf(`{"output":{"text":"mark-%s-"}}`, mark)
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %4d\r\n\r\n"
	text += strings.Repeat(" ", max(length-len(fmt.Sprintf(head, 0))-len(text), 0))
	return fmt.Sprintf(head, len(text)) + text, true
}

// certified makes a certificate, and the roots for its clients.
func certified(t *testing.T) ([]tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server.TLS.Certificates, roots
}

// overTLS serves over TLS.
func overTLS(serve func(net.Conn), certificate []tls.Certificate) func(net.Conn) {
	config := &tls.Config{
		Certificates: certificate, MinVersion: tls.VersionTLS12,
		DynamicRecordSizingDisabled: true, // one write is one record
	}
	return func(conn net.Conn) {
		secure := tls.Server(conn, config)
		serve(secure)
		_ = secure.Close()
	}
}

// upstreamOf builds a harness whose upstream is serve, over TLS or not.
func upstreamOf(t *testing.T, secure bool, serve func(net.Conn), changes ...func(*plan)) (*harness, *atomic.Int32) {
	t.Helper()
	certificate, roots := certified(t)
	scheme := "http://"
	if secure {
		scheme, serve = "https://", overTLS(serve, certificate)
	}
	address, accepted := listener(t, serve)
	h := build(t, append(changes, func(p *plan) { p.address = scheme + address })...)
	if secure {
		h.gateway.TrustUpstream(roots)
	}
	return h, accepted
}

// Bytes that upstream sends without a request, right after an answer or a moment later, are no answer to the next request.
func TestSurplusIsNoAnswer(t *testing.T) {
	const readAtOnce = 8 << 10 // the size of one read of a connection: the answer ends exactly there
	for _, secure := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("TLS %t, late %t", secure, late), func(t *testing.T) {
				answered, said := make(chan struct{}), make(chan struct{}, 3)
				h, accepted := upstreamOf(t, secure, func(conn net.Conn) {
					for in := bufio.NewReader(conn); ; {
						answer, ok := echo(in, readAtOnce)
						if !ok {
							return
						}
						if !late {
							_, _ = io.WriteString(conn, answer+unasked)
							<-answered
							said <- struct{}{}
							continue
						}
						_, _ = io.WriteString(conn, answer)
						<-answered
						_, _ = io.WriteString(conn, unasked)
						said <- struct{}{}
					}
				})
				for i := range 3 {
					if got := h.ask("POST", textPath, marked(i)); got.status != http.StatusOK || !strings.Contains(got.body, fmt.Sprintf("mark-%d-", i)) {
						t.Errorf("request %d has the answer %d %.60q", i, got.status, got.body)
					}
					h.records.await(t, i+1) // its connection waits for the next request
					answered <- struct{}{}
					<-said
				}
				if accepted.Load() != 3 {
					t.Errorf("%d connections", accepted.Load())
				}
				h.counts(t, "sluice_upstream_surplus_total", map[string]float64{"": 2})
			})
		}
	}
}

// An upstream that answers before the request gives no request another's answer.
func TestAnswersAreNotShifted(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			said := make(chan struct{}, 100)
			h, accepted := upstreamOf(t, secure, func(conn net.Conn) {
				_, _ = io.WriteString(conn, unasked)
				for in := bufio.NewReader(conn); ; {
					answer, ok := echo(in, 0)
					if !ok {
						return
					}
					_, _ = io.WriteString(conn, answer)
					said <- struct{}{}
				}
			})
			for i := range 10 {
				got := h.ask("POST", textPath, marked(i))
				if strings.Contains(got.body, "mark-") && !strings.Contains(got.body, fmt.Sprintf("mark-%d-", i)) {
					t.Errorf("request %d has the answer to another: %s", i, got.body)
				}
				if got.status == http.StatusOK {
					<-said
				}
				h.records.await(t, i+1)
			}
			if accepted.Load() < 10 {
				t.Errorf("%d connections for 10 requests", accepted.Load())
			}
		})
	}
}

// finishing keeps back TLS's writes after its first flight, which ends the handshake in TLS 1.2, and sends them together
// with the following ones.
type finishing struct {
	net.Conn
	writes int
	kept   []byte
}

func (f *finishing) Write(p []byte) (int, error) {
	if f.writes++; f.writes == 2 {
		f.kept = bytes.Clone(p)
		return len(p), nil
	}
	_, err := f.Conn.Write(append(f.kept, p...))
	f.kept = nil
	return len(p), err
}

// Bytes that upstream sends on a new connection before a request are no answer, either: nothing is sent on it.
func TestSurplusOnANewConnection(t *testing.T) {
	certificate, roots := certified(t)
	var requests atomic.Int32
	address, accepted := listener(t, func(conn net.Conn) {
		secure := tls.Server(&finishing{Conn: conn}, &tls.Config{Certificates: certificate, MaxVersion: tls.VersionTLS12})
		if err := secure.Handshake(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(secure, unasked)
		if takeRequest(bufio.NewReader(secure)) {
			requests.Add(1)
		}
	})
	h := build(t, func(p *plan) { p.address = "https://" + address })
	h.gateway.TrustUpstream(roots)
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/unreachable", "InternalError")
	if accepted.Load() != 2 || requests.Load() != 0 {
		t.Errorf("%d requests on %d connections", requests.Load(), accepted.Load())
	}
	h.counts(t, "sluice_upstream_surplus_total", map[string]float64{"": 2})
}

// A creation never uses a connection that was closed a moment ago: its hold would last for an hour.
func TestCreationIsNotLostToAClose(t *testing.T) {
	const created = `{"output":{"task_id":"task-%d","task_status":"PENDING"},"request_id":"a"}`
	var tasks atomic.Int32
	closed := make(chan struct{}, 1)
	h, _ := upstreamOf(t, false, func(conn net.Conn) {
		if !takeRequest(bufio.NewReader(conn)) {
			return
		}
		text := fmt.Sprintf(created, tasks.Add(1))
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		_ = conn.Close()
		closed <- struct{}{}
	})
	for i := range 20 {
		got := h.ask("POST", imagePath, imageBody, async...)
		if want := fmt.Sprintf("task-%d", i+1); got.status != http.StatusOK || got.member(t, "output", "task_id") != want {
			t.Fatalf("%d %s, want %s", got.status, got.body, want)
		}
		<-closed
		h.records.await(t, i+1)
	}
}

// An upstream that closes after each answer without announcing it costs no more requests than a bare proxy loses.
func TestClosedWithoutAWord(t *testing.T) {
	const requests = 100
	closed := make(chan struct{}, 1)
	address, _ := listener(t, func(conn net.Conn) {
		if answer, ok := echo(bufio.NewReader(conn), 0); ok {
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
			closed <- struct{}{}
		}
	})
	h := build(t, func(p *plan) { p.address = "http://" + address })
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(pr *httputil.ProxyRequest) { pr.SetURL(&url.URL{Scheme: "http", Host: address}) },
		Transport: &http.Transport{}, ErrorLog: log.New(io.Discard, "", 0),
	})
	defer bare.Close()
	lost := func(target string) (n int) {
		for i := range requests {
			r := h.request("POST", textPath, marked(i))
			r.URL.Host = strings.TrimPrefix(target, "http://")
			if got := h.send(r); got.status == http.StatusBadGateway {
				n++
				continue
			}
			<-closed
		}
		return n
	}
	ours, theirs := lost(h.server.URL), lost(bare.URL)
	if ours > theirs {
		t.Errorf("of %d requests %d were lost, and %d beside a bare proxy", requests, ours, theirs)
	}
}
