package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway/simulator"
)

// pollers are clients that send many concurrent polls over one HTTP/2 connection each.
type pollers struct {
	*testing.T
	base    string
	clients []*http.Client
	counts  sync.Map // how often each status, and how often a refusal
}

func startPollers(t *testing.T, base string, roots *x509.CertPool, n int) *pollers {
	t.Helper()
	p := &pollers{T: t, base: base}
	for range n {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
		t.Cleanup(transport.CloseIdleConnections)
		client := &http.Client{Transport: transport, Timeout: 5 * patience}
		p.clients = append(p.clients, client)
		p.poll(t.Context(), client, "none") // it connects
	}
	return p
}

func (p *pollers) poll(ctx context.Context, client *http.Client, task string) (status int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/v1/tasks/"+task, http.NoBody)
	if err != nil {
		p.Error(err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer test")
	answer, err := client.Do(request)
	if err != nil {
		p.Error(err)
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.ProtoMajor != 2 {
		p.Errorf("%s is no HTTP/2", answer.Proto)
	}
	count, _ := p.counts.LoadOrStore(fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Sluice-Refusal")), new(atomic.Int64))
	count.(*atomic.Int64).Add(1)
	return answer.StatusCode
}

// burst sends streams polls of invented ids over each connection without waiting for answers. Each begins when the previous one
// has been sent: otherwise sending would keep a busy machine from calling Redis in time.
func (p *pollers) burst(streams int) *sync.WaitGroup {
	var polling sync.WaitGroup
	polling.Go(func() {
		for m := range streams {
			for n, client := range p.clients {
				sent := make(chan struct{})
				note := sync.OnceFunc(func() { close(sent) })
				ctx := httptrace.WithClientTrace(p.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { note() }})
				polling.Go(func() {
					defer note()
					p.poll(ctx, client, fmt.Sprintf("none-%d-%d", n, m))
				})
				<-sent
			}
		}
	})
	return &polling
}

// A team's burst of 3,200 concurrent polls of invented ids, over a Redis that takes a fifth of a second for each call: another
// team gets its texts and pictures, Redis does not count as away, and the team's own task is never refused.
func TestABurstOfPollsTakesNoOtherTeamsRequests(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	_, upstream := newService(t, simulator.Config{TaskRate: -1})
	certificate, key, roots := selfSigned(t)
	teams := someTeams + fmt.Sprintf("  - id: shop\n    keys: [{id: shopkey00000, sha256: %x}]\n", sha256.Sum256([]byte("shop")))
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, teams), "SLUICE_REDIS_URL=redis://"+proxy.Listen, "SLUICE_REDIS_TIMEOUT=3s",
		"SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key, "SLUICE_POLL_INTERVAL=200ms")
	eventually(t, func() bool {
		return connectionsOf(t, server.do("INFO", "stats").(string)) >= redisclient.SpareConnections
	})
	p := startPollers(t, "https://"+h.public, roots, 32)
	shop := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 5 * patience}
	defer shop.CloseIdleConnections()
	own := &taskReplicas{T: t, client: p.clients[0]}
	task := own.createAt("https://"+h.public, 1)
	for _, warm := range []string{"shop", "test"} {
		if status, text, err := askAs(shop, warm, "https://"+h.public, textURL, pageText+`}}`); status != http.StatusOK {
			t.Fatalf("%d %s %v", status, text, err)
		}
	}
	toxic(t, proxy, `{"name":"far","type":"latency","stream":"downstream","attributes":{"latency":200,"jitter":0}}`)

	const pictures = `{"model":"gen2.5-t2i","prompt":"lighthouse %d of coast %d","n":2}`
	polling := p.burst(100)
	var asking sync.WaitGroup
	for n := range 8 {
		asking.Go(func() {
			for m := range 2 {
				if status, text, err := askAs(shop, "shop", "https://"+h.public, textURL, pageText+`}}`); status != http.StatusOK {
					t.Errorf("another team's text: %d %s %v", status, text, err)
				}
				if status, text, err := askAs(shop, "shop", "https://"+h.public, "/v1/images/generations",
					fmt.Sprintf(pictures, n, m)); status != http.StatusOK {
					t.Errorf("another team's pictures: %d %s %v", status, text, err)
				}
			}
		})
	}
	for range 5 {
		if status := p.poll(t.Context(), p.clients[0], task); status != http.StatusOK {
			t.Errorf("the team's own task: %d", status)
		}
	}
	polling.Wait()
	asking.Wait()
	p.counts.Range(func(answer, n any) bool {
		t.Logf("%v: %d", answer, n.(*atomic.Int64).Load())
		return true
	})
	if _, refused := p.counts.Load("429 throttle/concurrent"); !refused {
		t.Error("no poll was refused")
	}
	status, text, err := ask(newClient(t), "http://"+h.admin, "/readyz?verbose", "")
	if err != nil || status != http.StatusOK || !strings.Contains(text, "redis: ok\n") ||
		!strings.Contains(text, "calls of Redis for one team: 16 at once") {
		t.Errorf("readiness: %d %q %v", status, text, err)
	}
	if strings.Contains(string(h.log.bytes()), "Redis is away") {
		t.Error("Redis counts as away")
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
