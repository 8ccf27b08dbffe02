package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit/limittest"
)

// house is a running serve, inside the test.
type house struct {
	public, admin string // addresses
	log           *transcript
	sigterm       func()
	code          chan int
}

// serving starts serve in front of a service and waits until it serves. It is stopped by the test, or by the test's end.
func serving(t testing.TB, service string, variables ...string) *house {
	t.Helper()
	ctx, sigterm := context.WithCancel(context.Background())
	h := &house{log: newTranscript(), sigterm: sigterm, code: make(chan int, 1)}
	environ := servingEnviron(t, service, variables...)
	go func() {
		defer close(h.code)
		h.code <- run(ctx, program{environ, h.log, h.log}, []string{"serve"})
	}()
	t.Cleanup(func() { h.stop() })
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	match, err := h.log.find(waiting, regexp.MustCompile(`"msg":"serving","listen":"([^"]+)".*"admin":"([^"]+)"`))
	if err != nil {
		t.Fatalf("%v; it said\n%s", err, h.log.bytes())
	}
	h.public, h.admin = string(match[1]), string(match[2])
	return h
}

// servingEnviron is the environment of a gateway of someTeams in front of a service.
func servingEnviron(t testing.TB, service string, variables ...string) []string {
	t.Helper()
	return append([]string{
		"SLUICE_UPSTREAM_URL=" + service + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_SHUTDOWN_DELAY=0",
	}, variables...)
}

// stop stops serve and returns its exit code.
func (h *house) stop() int {
	h.sigterm()
	return <-h.code
}

// newService is a simulated service over a real socket.
func newService(t testing.TB, cfg simulator.Config) (*simulator.Simulator, *httptest.Server) {
	t.Helper()
	cfg.Keys = []string{"sk-upstream"}
	service := simulator.New(cfg)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return service, server
}

// newClient is an HTTP client that the test's end cleans up.
func newClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// ask sends a text request, or gets another path, as the team of someTeams.
func ask(client *http.Client, base, path, body string) (status int, answer string, err error) {
	return askAs(client, "test", base, path, body)
}

// askAs is the same with another key.
func askAs(client *http.Client, key, base, path, body string) (status int, answer string, err error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

const textURL = "/api/v1" + textPath

func TestNoRequestIsLostByAStopUnderLoad(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_SHUTDOWN_DELAY=200ms")
	client := newClient(t)
	var answered, refused atomic.Int64
	warm := make(chan struct{})
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for {
				status, _, err := ask(client, "http://"+h.public, textURL, demoText)
				switch {
				case err != nil: // the listener is closed
					return
				case status == http.StatusOK:
					if answered.Add(1) == 100 {
						close(warm)
					}
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					t.Errorf("answered %d", status)
					return
				}
			}
		})
	}
	<-warm
	before := time.Now()
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
	if took := time.Since(before); took > 30*time.Second {
		t.Errorf("the stop took %v, want at most delay and grace", took)
	}
	load.Wait()
	if executed := int64(service.Tally().Executed[simulator.EndpointText]); executed != answered.Load() {
		t.Errorf("the service executed %d requests, %d were answered (%d refused)", executed, answered.Load(), refused.Load())
	}
}

func TestWhatRunsMayEndWithinTheGrace(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	service.SetFault(simulator.Fault{Stall: "headers"})
	h := serving(t, upstream.URL)
	client := newClient(t)
	answer := make(chan int, 1)
	go func() {
		status, _, _ := ask(client, "http://"+h.public, textURL, demoText)
		answer <- status
	}()
	if err := service.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.sigterm()
	if _, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"stopping"`)); err != nil {
		t.Fatal(err)
	}
	if status, text, err := ask(client, "http://"+h.admin, "/readyz", ""); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("readiness while stopping: %d %q %v", status, text, err)
	}
	service.Release()
	if status := <-answer; status != http.StatusOK {
		t.Errorf("the running request was answered %d", status)
	}
	if code := <-h.code; code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

func TestWhatDoesNotEndIsCutAfterTheGrace(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	service.SetFault(simulator.Fault{Stall: "headers"})
	h := serving(t, upstream.URL, "SLUICE_SHUTDOWN_GRACE=50ms")
	client := newClient(t)
	failed := make(chan error, 1)
	go func() {
		_, _, err := ask(client, "http://"+h.public, textURL, demoText)
		failed <- err
	}()
	if err := service.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if code := h.stop(); code != exitFailure || !strings.Contains(string(h.log.bytes()), "SLUICE_SHUTDOWN_GRACE") {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
	if err := <-failed; err == nil {
		t.Error("the cut request looks complete")
	}
	service.Release()
}

// TestAnOutputThatNobodyReadsHoldsUpNothing gives serve a standard output that blocks forever: requests are answered as before,
// and lost lines are counted.
func TestAnOutputThatNobodyReadsHoldsUpNothing(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	blocked, release := io.Pipe()
	defer func() { _ = release.Close() }()
	address, adminAddress := fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t)), fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t))
	ctx, sigterm := context.WithCancel(t.Context())
	defer sigterm()
	code := make(chan int, 1)
	environ := []string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
		"SLUICE_LISTEN=" + address, "SLUICE_ADMIN_LISTEN=" + adminAddress, "SLUICE_SHUTDOWN_DELAY=0",
	}
	go func() { code <- run(ctx, program{environ, release, io.Discard}, []string{"serve"}) }()
	client := newClient(t)
	served := 0
	for deadline := time.Now().Add(patience); served < 20 && time.Now().Before(deadline); {
		if status, _, err := ask(client, "http://"+address, textURL, demoText); err == nil && status == http.StatusOK {
			served++
		}
	}
	h := &house{public: address, admin: adminAddress}
	begun := time.Now()
	if well := h.load(t, 6000); well != 6000 || time.Since(begun) > patience {
		t.Errorf("%d of 6000 were answered, in %v", well, time.Since(begun))
	}
	if n := h.value(t, "sluice_log_dropped_total"); n < 1000 {
		t.Errorf("%v lines are counted as lost, of 6000 with room for 4096", n)
	}
	sigterm()
	if got := <-code; served != 20 || got != exitClean {
		t.Errorf("served %d of 20, exit code %d", served, got)
	}
	_ = blocked.Close()
}

func TestNothingOfTheAdminListenerIsPublic(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_ADMIN_PPROF=true")
	client := newClient(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/usage", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/admin"} {
		if status, text, err := ask(client, "http://"+h.public, path, ""); err != nil || status != http.StatusNotFound ||
			!strings.HasPrefix(text, `{"code":"NotFound"`) {
			t.Errorf("%s on the public listener: %d %q %v", path, status, text, err)
		}
	}
	if status, _, err := ask(client, "http://"+h.admin, "/debug/pprof/heap", ""); err != nil || status != http.StatusOK {
		t.Errorf("profile on the admin listener: %d %v", status, err)
	}
	if status, _, err := ask(client, "http://"+h.admin, textURL, demoText); err != nil || status != http.StatusNotFound {
		t.Errorf("the service on the admin listener: %d %v", status, err)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// The names of the admin listener are localhost, addresses and the configured names.
func TestTheAdminListenersNames(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_ADMIN_HOSTS=probe.example,Sluice", "SLUICE_ADMIN_LISTEN=localhost:0")
	client := newClient(t)
	for host, want := range map[string]int{h.admin: 200, "localhost:8081": 200, "probe.example:8081": 200, "sluice": 200,
		"evil.example:8081": 421} {
		request, err := http.NewRequest(http.MethodGet, "http://"+h.admin+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, answer.StatusCode, want)
		}
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

func TestTLS(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	certificate, key, roots := selfSigned(t)
	h := serving(t, upstream.URL, "SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	response, err := client.Get("https://" + h.public + "/api/v1/tasks")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.ProtoMajor != 2 || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("answered %s %s, want 401 over HTTP/2", response.Proto, response.Status)
	}
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	var refused tls.AlertError
	if conn, err := tls.Dial("tcp", h.public, old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was accepted")
	} else if !errors.As(err, &refused) && !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
	}
	transport.CloseIdleConnections()
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// A certificate that is moved into place counts for new connections once its key is there, too; until then the one before stays.
func TestANewCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	_, upstream := newService(t, simulator.Config{})
	certificate, key, before := selfSigned(t)
	h := serving(t, upstream.URL, "SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key, "SLUICE_TEAMS_POLL=10ms")
	defer h.stop()
	accepted := func(roots *x509.CertPool) bool {
		conn, err := tls.Dial("tcp", h.public, &tls.Config{RootCAs: roots})
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	newCertificate, newKey, after := selfSigned(t)
	must(t, os.Rename(newCertificate, certificate))
	if _, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"certificate refused, the previous content stays in force"`)); err != nil {
		t.Fatal(err)
	}
	if status, text, err := ask(newClient(t), "http://"+h.admin, "/readyz?verbose", ""); err != nil || status != http.StatusOK ||
		!strings.Contains(text, "the previous content stays in force") {
		t.Errorf("readiness: %d %s %v", status, text, err)
	}
	if !accepted(before) {
		t.Error("the certificate before is not in force")
	}
	must(t, os.Rename(newKey, key))
	if _, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"certificate loaded"`)); err != nil {
		t.Fatal(err)
	}
	if !accepted(after) || accepted(before) {
		t.Error("the new certificate is not in force")
	}
}

// An authority that is put into SSL_CERT_DIR counts without a restart, a broken file keeps it, and connections are kept.
func TestNewAuthoritiesAreReadAgain(t *testing.T) {
	t.Parallel()
	service := simulator.New(simulator.Config{Keys: []string{"sk-upstream"}})
	var connections atomic.Int64
	secure := httptest.NewUnstartedServer(service)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	secure.StartTLS()
	defer secure.Close()
	other, _, _ := selfSigned(t)
	folder := filepath.Dir(other)
	h := serving(t, secure.URL, "SSL_CERT_DIR="+folder, "SLUICE_TEAMS_POLL=10ms")
	defer h.stop()
	client := newClient(t)
	want := func(status int, about string) {
		t.Helper()
		if got, text, err := ask(client, "http://"+h.public, textURL,
			`{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`); err != nil || got != status {
			t.Errorf("%s: %d %s %v", about, got, text, err)
		}
	}
	logged := func(message string) {
		t.Helper()
		if _, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"`+message)); err != nil {
			t.Fatal(err)
		}
	}
	want(http.StatusBadGateway, "before")
	house := filepath.Join(folder, "house.pem")
	must(t, os.WriteFile(house, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	logged("authorities loaded")
	want(http.StatusOK, "with the authority")
	made := connections.Load()
	must(t, os.WriteFile(house, []byte("-----BEGIN CERTIFICATE-----"), 0o600))
	logged("authorities refused, the previous content stays in force")
	if _, text, err := ask(client, "http://"+h.admin, "/readyz?verbose", ""); err != nil || !strings.Contains(text, "authorities") ||
		!strings.Contains(text, "the previous content stays in force") {
		t.Errorf("readiness: %s %v", text, err)
	}
	if want(http.StatusOK, "on the kept connection"); connections.Load() != made {
		t.Error("the connection was not kept")
	}
	secure.CloseClientConnections()
	if want(http.StatusOK, "on a new connection"); connections.Load() == made {
		t.Error("there is no new connection")
	}
}

func TestCertificateAndKeyThatDoNotFit(t *testing.T) {
	certificate, _, _ := selfSigned(t)
	_, key, _ := selfSigned(t)
	environ := with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key)
	got := command(t.Context(), environ, "check")
	if got.code != exitFaulty || !strings.Contains(got.stderr, "SLUICE_TLS_CERT_FILE: ") || strings.Contains(got.text(), "PRIVATE") {
		t.Errorf("%+v", got)
	}
}
