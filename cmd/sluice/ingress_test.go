package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/cmd/sluice/ingress"
	"sluice/gateway/simulator"
	"sluice/gateway/upstream"
	"sluice/policy/limit/limittest"
)

// front is a program that stands in front of Sluice, with its file in deploy/ingress.
type front struct {
	program, file string
	args          []string // CONFIG is its configuration's path, DIR a directory of its own
	listen        string   // what of the file is the listener's address
	on            string   // and what replaces it; PORT is the port
	names         string   // how check calls it
	between       string   // what of the file is between a host and its port
}

var fronts = []front{
	{"nginx", "nginx.conf", []string{"-c", "CONFIG", "-p", "DIR", "-g", "daemon off; pid DIR/pid; error_log stderr;"}, "listen 443",
		"listen 127.0.0.1:PORT", "nginx", ":"},
	{"haproxy", "haproxy.cfg", []string{"-db", "-f", "CONFIG"}, "bind :443", "bind 127.0.0.1:PORT", "HAProxy", ":"},
	{"caddy", "Caddyfile", []string{"run", "--adapter", "caddyfile", "--config", "CONFIG"}, "\n:443 {",
		"\nhttps://localhost:PORT {\n\tbind 127.0.0.1", "Caddy", ":"},
	{"envoy", "envoy.yaml", []string{"-c", "CONFIG", "--concurrency", "1", "--disable-hot-restart"},
		`"::", port_value: 443, ipv4_compat: true`, "127.0.0.1, port_value: PORT", "Envoy", ", port_value: "},
}

// find is the program's path. The test is skipped without it.
func (f front) find(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(f.program)
	if err != nil {
		if os.Getenv("CI_REQUIRES_INGRESS") != "" {
			t.Fatalf("%s is not installed, and CI requires it", f.program)
		}
		t.Skipf("%s is not installed", f.program)
	}
	return path
}

// start starts it in front of a gateway with its file, changed by pairs of what is there and what replaces it.
func (f front) start(t *testing.T, gateway, certificates string, changes ...string) *url.URL {
	t.Helper()
	program := f.find(t)
	for range 5 { // another process may take the port meanwhile
		port, dir := fmt.Sprint(limittest.FreePort(t)), t.TempDir()
		text := readRoot(t, "deploy/ingress/"+f.file)
		for pair := range slices.Chunk(append([]string{"sluice" + f.between + "8080", strings.Replace(gateway, ":", f.between, 1), f.listen,
			strings.ReplaceAll(f.on, "PORT", port), "/etc/ingress", certificates}, changes...), 2) {
			if !strings.Contains(text, pair[0]) {
				t.Fatalf("%s has no %q", f.file, pair[0])
			}
			text = strings.ReplaceAll(text, pair[0], pair[1])
		}
		config := filepath.Join(dir, f.file)
		must(t, os.WriteFile(config, []byte(text), 0o600))
		args := make([]string, len(f.args))
		for i, arg := range f.args {
			args[i] = strings.NewReplacer("CONFIG", config, "DIR", dir).Replace(arg)
		}
		if f.launch(t, program, args, dir, "127.0.0.1:"+port) {
			return &url.URL{Scheme: "https", Host: "localhost:" + port}
		}
	}
	t.Fatalf("%s does not start", f.program)
	return nil
}

// launch reports whether the program listens.
func (f front) launch(t *testing.T, program string, args []string, dir, address string) bool {
	t.Helper()
	run := exec.Command(program, args...)
	said := newTranscript()
	run.Stdout, run.Stderr, run.Env, run.Dir = said, said, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir), dir
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, run.Start())
	over := make(chan struct{})
	go func() { _ = run.Wait(); close(over) }()
	// with its workers; asked to stop, some wait for connections
	t.Cleanup(func() { _ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL); <-over })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-over:
			t.Logf("%s said\n%s", f.program, said.bytes())
			return false
		default:
		}
	}
	return false
}

// certificates makes a directory as the files of deploy/ingress name it: a certificate for localhost that is its own authority, and that
// of a client.
func certificates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"tls", "clients"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(24 * time.Hour),
			IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: []string{"localhost"},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		must(t, err)
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
		for end, content := range map[string][]byte{".crt": crt, ".key": private, ".pem": append(crt, private...)} {
			must(t, os.WriteFile(filepath.Join(dir, name+end), content, 0o600))
		}
	}
	return dir
}

// through runs sluice check --through.
func through(t *testing.T, to *url.URL, certificates string, more ...string) outcome {
	t.Helper()
	return command(t.Context(), nil, append([]string{"check", "--through", to.String(), "--ca", filepath.Join(certificates, "tls.crt"),
		"--key", write(t, "test\n")}, more...)...)
}

// The files of deploy/ingress let through what clients send and wait for, also where clients have certificates.
func TestTheFilesForAnIngressLetEverythingThrough(t *testing.T) {
	t.Parallel()
	service, upstream := newService(t, simulator.Config{})
	t.Cleanup(func() {
		if n := len(service.Requests()); n != 0 {
			t.Errorf("the service got %d requests", n)
		}
	})
	certificates, silence := certificates(t), "10s"
	if os.Getenv("LONG") != "" {
		silence = "65s"
	}
	for _, f := range fronts {
		t.Run(f.program, func(t *testing.T) {
			t.Parallel()
			h := serving(t, upstream.URL, "SLUICE_TRUSTED_PROXIES=127.0.0.1") // of its own: it bounds the trials at once
			t.Cleanup(func() { h.stop() })
			got := through(t, f.start(t, h.public, certificates), certificates, "--silence", silence)
			if got.code != exitClean || strings.Count(got.stdout, "ok: ") != 7 || !strings.Contains(got.stdout, "through "+f.names) {
				t.Errorf("%+v", got)
			}
			to := f.start(t, h.public, certificates, "#mTLS ", "")
			if got := through(t, to, certificates, "--silence", "1s"); got.code != exitFailure || !strings.Contains(got.stdout, "wrong: reached") {
				t.Errorf("without a client's certificate: %+v", got)
			}
			if got := through(t, to, certificates, "--silence", "1s", "--client-cert",
				filepath.Join(certificates, "clients.pem")); !strings.Contains(got.stdout, "ok: reached") {
				t.Errorf("with it: %+v", got)
			}
		})
	}
}

// Check names the setting of the program that is wrong.
func TestCheckNamesTheWrongSettingOfAnIngress(t *testing.T) {
	t.Parallel()
	_, service := newService(t, simulator.Config{})
	h := serving(t, service.URL, "SLUICE_TRUSTED_PROXIES=127.0.0.0/8")
	t.Cleanup(func() { h.stop() })
	blind := serving(t, service.URL)
	t.Cleanup(func() { blind.stop() })
	certificates := certificates(t)
	for _, tt := range []struct {
		program   int
		about     string
		changes   []string
		says, set string
	}{
		{0, "buffered answers", []string{"proxy_buffering off;", "proxy_buffering on; gzip on; gzip_proxied any; gzip_min_length 1; " +
			"gzip_types text/event-stream;"}, "its frames were held back", "set proxy_buffering off"},
		{0, "small bodies", []string{"client_max_body_size 64m;", ""}, "refused with 413 before it reached Sluice",
			"set client_max_body_size 64m"},
		{0, "small headers", []string{"large_client_header_buffers 4 32k;", ""}, "header of 24 KiB: ", "set large_client_header_buffers 4 32k"},
		{0, "a short idle limit", []string{"proxy_read_timeout 330s", "proxy_read_timeout 1s"}, "it was cut after",
			"set proxy_read_timeout 330s"},
		{0, "a short wait", []string{"proxy_read_timeout 330s", "proxy_read_timeout 1s"}, "wrong: Prefer: wait=2: answered with 504",
			"set proxy_read_timeout 330s"},
		{0, "no client's address", []string{"proxy_set_header X-Forwarded-For $remote_addr", "proxy_set_header X-Forwarded-For \"\""},
			"nothing says in X-Forwarded-For", "set proxy_set_header X-Forwarded-For"},
		{0, "retries", []string{"proxy_next_upstream off", "proxy_next_upstream error timeout non_idempotent", "proxy_request_buffering off",
			"proxy_request_buffering on", "        keepalive 64;", "        server " + h.public + " max_fails=0;\n        keepalive 64;"},
			"it arrived 2 times", "set proxy_next_upstream off"},
		{1, "small headers", []string{"tune.bufsize 65536", "tune.bufsize 16384"}, "header of 24 KiB: ", "set tune.bufsize 65536"},
		{1, "a short idle limit", []string{"timeout server 330s", "timeout server 1s"}, "wrong: Prefer: wait=2: answered with 504",
			"set timeout server 330s"},
		{1, "retries", []string{"retries 0 ", "retries 3\n    retry-on all-retryable-errors\n"}, "it arrived 4 times", "set retries 0"},
		{2, "small bodies", []string{"max_size 64MiB", "max_size 1MiB"}, " before it reached Sluice", "set request_body max_size 64MiB"},
		{2, "a short idle limit", []string{"dial_timeout 5s", "response_header_timeout 1s"}, "wrong: Prefer: wait=2: answered with 504",
			"set no read_timeout"},
		{3, "small headers", []string{"max_request_headers_kb: 60", "max_request_headers_kb: 8"}, "header of 24 KiB: ",
			"set max_request_headers_kb: 60"},
		{3, "a short idle limit", []string{"stream_idle_timeout: 330s", "stream_idle_timeout: 1s"}, "wrong: Prefer: wait=2: answered with 504",
			"stream_idle_timeout to 330s"},
		{3, "retries", []string{"timeout: 0s}", "timeout: 0s, retry_policy: {retry_on: reset, num_retries: 3}}"}, "it arrived 4 times",
			"set no retry policy"},
	} {
		t.Run(fronts[tt.program].program+": "+tt.about, func(t *testing.T) {
			got := through(t, fronts[tt.program].start(t, h.public, certificates, tt.changes...), certificates, "--silence", "2s")
			if got.code != exitFailure || !strings.Contains(got.stdout, tt.says) || !strings.Contains(got.stdout, tt.set) {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("a proxy that is not trusted", func(t *testing.T) {
		got := through(t, fronts[0].start(t, blind.public, certificates), certificates, "--silence", "1s")
		if got.code != exitFailure || !strings.Contains(got.stdout, "set SLUICE_TRUSTED_PROXIES to its address, 127.0.0.1") {
			t.Errorf("%+v", got)
		}
	})
}

// Without an ingress the same trials pass, and what cannot be tried is named.
func TestCheckThroughNothing(t *testing.T) {
	_, service := newService(t, simulator.Config{})
	h := serving(t, service.URL)
	defer h.stop()
	for about, tt := range map[string]struct {
		key, says string
		code      int
	}{
		"a key": {"test", "ok: a POST without an answer is sent once\n", exitClean},
		"a key of no team": {"wrongCANARY", "wrong: reached over HTTP/1.1, through something without a name, or nothing: Sluice does not " +
			"know the key\n", exitFailure},
		"what is no key":    {"a b CANARY", "--key: the content is no key", exitFaulty},
		"no file for a key": {"", "--key: the file is empty", exitFaulty},
	} {
		got := command(t.Context(), nil, "check", "--through", "http://"+h.public, "--key", write(t, tt.key), "--silence", "1s")
		if got.code != tt.code || !strings.Contains(got.text(), tt.says) || strings.Contains(got.text(), "CANARY") {
			t.Errorf("%s: %+v", about, got)
		}
	}
	if got := command(t.Context(), nil, "check", "--through", "http://"+h.public+"/api/v1", "--key", write(t, "test"), "--silence",
		"1s"); !strings.Contains(got.stdout, "no such path; give its address without /api/v1") {
		t.Errorf("with the path of the service: %+v", got)
	}
	for _, args := range [][]string{{"--through", "models.example", "--key", "-"}, {"--through", "http://127.0.0.1:1"},
		{"--through", "http://127.0.0.1:1", "--key", "-", "--silence", "90ms"}} {
		if got := command(t.Context(), nil, append([]string{"check"}, args...)...); got.code != exitFaulty {
			t.Errorf("%q: %+v", args, got)
		}
	}
	var out strings.Builder
	gone := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	if err := ingress.Try(context.Background(), &out, ingress.Config{URL: gone, Key: upstream.Secret("test"),
		Silence: time.Second}); err == nil || !strings.Contains(out.String(), "wrong: reached: no answer") {
		t.Errorf("%v %q", err, out.String())
	}
}
