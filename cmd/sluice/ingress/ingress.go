// Package ingress tests whether the reverse proxy in front of a gateway passes what clients of Sluice send and wait for.
//
// It names the wrong setting of the proxy. It sends only requests that Sluice answers or refuses itself, so the service is not called
// and nothing is charged. It reads no environment.
package ingress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/gateway/upstream"
)

const (
	answerFor   = 30 * time.Second // how much longer than expected an answer may take
	late        = 10 * time.Second // a first frame that takes this long, or as long as the silence, was held back
	largest     = 64 << 20         // bytes of the sent body: the default of SLUICE_MAX_BODY
	headerBytes = 24 << 10         // of the long header: tokens and traces make headers long; Sluice accepts 28 KiB in all
	mostWait    = 60 * time.Second // the longest wait that clients may prefer
	peeks       = 16               // queries for a dropped request, to reach all replicas behind the ingress
	echoPath    = "/sluice/v1/echo"
	textPath    = "/api/v1/services/aigc/text-generation/generation"
)

// Config configures the trials.
type Config struct {
	URL         *url.URL         // the ingress's, without a path
	Key         upstream.Secret  // a team's
	Silence     time.Duration    // inside a stream, in whole seconds from 1 to 120
	Certificate *tls.Certificate // the client's, if the ingress asks for one; nil: none
	Roots       *x509.CertPool   // authorities of the ingress's certificate; nil: the system's
}

// Finding is the outcome of one trial.
type Finding struct {
	What  string // what was tried, and measurements
	Fault string // empty: no fault
	Cure  string // the right setting
}

// String returns the finding in one line.
func (f Finding) String() string {
	if f.Fault == "" {
		return "ok: " + f.What
	}
	line := "wrong: " + f.What + ": " + f.Fault
	if f.Cure != "" {
		line += "; set " + f.Cure
	}
	return line
}

// Try runs all trials, writes a line for each, and returns an error if one found a fault.
func Try(ctx context.Context, w io.Writer, c Config) error {
	t := &trial{Config: c, client: c.over((*http.Protocols).SetHTTP2), once: c.over((*http.Protocols).SetHTTP1)}
	wrong := 0
	write := func(f Finding) error {
		if f.Fault != "" {
			wrong++
		}
		_, err := fmt.Fprintln(w, f)
		return err
	}
	reached := t.reach(ctx)
	if err := write(reached); err != nil {
		return err
	}
	if reached.Fault != "" {
		return fmt.Errorf("no trial reached Sluice at %s", c.URL.Redacted())
	}
	for _, f := range t.rest(ctx) {
		if err := write(f); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of the settings of what stands in front of Sluice are wrong", wrong)
	}
	return nil
}

// over returns a client that offers HTTP/1.1 and one more protocol.
func (c *Config) over(offer func(*http.Protocols, bool)) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	offer(protocols, true)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots}, Protocols: protocols,
		DisableKeepAlives: true, // a connection that an ingress ends must end only one trial
	}
	if c.Certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*c.Certificate}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// rest runs the other trials concurrently, except the last: after it an ingress may take the gateway, which did not answer, out of
// service for some seconds.
func (t *trial) rest(ctx context.Context) []Finding {
	trials := []func(context.Context) Finding{t.forwarded, t.headers, t.body, t.frames, t.wait}
	found := make([]Finding, len(trials), len(trials)+1)
	var running sync.WaitGroup
	for i, try := range trials {
		running.Go(func() { found[i] = try(ctx) })
	}
	running.Wait()
	return append(found, t.retries(ctx))
}

// trial is one run.
type trial struct {
	Config
	client *http.Client
	once   *http.Client // HTTP/1.1, a whole request: over HTTP/2 Go's client may repeat it itself, and HAProxy repeats only whole ones
	kind   kind
	seen   echoed
}

// echoed is what Sluice saw of a request.
type echoed struct {
	Replica   string `json:"replica"`
	Client    string `json:"client"`
	Forwarded bool   `json:"forwarded"`
	Trusted   bool   `json:"trusted"`
	Arrived   int    `json:"arrived"`
}

// request returns a request of the team, without a body.
func (t *trial) request(ctx context.Context, method, path, query string) *http.Request {
	to := *t.URL
	to.Path, to.RawQuery = strings.TrimSuffix(to.Path, "/")+path, query
	r := (&http.Request{Method: method, URL: &to, Host: to.Host, Header: http.Header{"User-Agent": {"sluice-check"}}}).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+t.Key.Reveal())
	return r
}
