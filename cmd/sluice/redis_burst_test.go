package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// burst is requests that one client sends over HTTP/2.
type burst struct {
	connections, streams int // streams on each connection
	atOnce               int // of them; more than a server allows would wait in the client, beyond its timeout
	tls                  *tls.Config
	request              func() *http.Request
}

// send sends them, and returns the number of answers by status; 0: no answer.
func (b *burst) send() map[int]int {
	var mu sync.Mutex
	var asking sync.WaitGroup
	statuses, begin := map[int]int{}, make(chan struct{})
	for range b.connections {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: b.tls.Clone(),
			HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}
		client := &http.Client{Transport: transport, Timeout: 2 * patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		defer transport.CloseIdleConnections()
		ask := func() {
			status := 0
			if answer, err := client.Do(b.request()); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				status = answer.StatusCode
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		}
		ask() // connects first: otherwise each would connect for itself
		left := make(chan struct{}, b.streams)
		for range b.streams - 1 {
			left <- struct{}{}
		}
		close(left)
		for range b.atOnce {
			asking.Go(func() {
				<-begin
				for range left {
					ask()
				}
			})
		}
	}
	close(begin)
	asking.Wait()
	return statuses
}

// beside records what another team and the operators' probe see during a burst.
type beside struct {
	asked, failed, looks, degraded atomic.Int64
	state                          atomic.Pointer[string] // the last degraded one
}

// watch sends a team's requests and checks readiness, one after the other, until ended is closed.
func (w *beside) watch(t *testing.T, ended <-chan struct{}, ask func() int, admin string) {
	var watching sync.WaitGroup
	defer watching.Wait()
	until := func(do func()) {
		watching.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					do()
				}
			}
		})
	}
	for range 4 {
		until(func() {
			w.asked.Add(1)
			if status := ask(); status != http.StatusOK {
				w.failed.Add(1)
				t.Logf("the other team is answered %d", status)
			}
		})
	}
	client := newClient(t)
	until(func() {
		answer, err := client.Get("http://" + admin + "/readyz?verbose")
		if err != nil {
			return
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		w.looks.Add(1)
		if _, state, _ := strings.Cut(string(text), "redis: "); !strings.HasPrefix(state, "ok") {
			w.degraded.Add(1)
			w.state.Store(&state)
		}
		time.Sleep(10 * time.Millisecond)
	})
}

// stateText is the last degraded state.
func (w *beside) stateText() string {
	if state := w.state.Load(); state != nil {
		return fmt.Sprintf("%.300s", *state)
	}
	return "never"
}

// burstHouse is a serve with Redis and TLS, two teams and an operator who has logged in. The keys are test and other.
type burstHouse struct {
	*house
	public, console string
	tls             *tls.Config
	client          *http.Client
	session         []*http.Cookie
}

func newBurstHouse(t *testing.T) *burstHouse {
	t.Helper()
	_, service := newService(t, simulator.Config{})
	certificate, key, roots := selfSigned(t)
	digest := sha256.Sum256([]byte("other"))
	file := someTeams + "    rates: {requests: {per: 1m, limit: 1000000}}\n  - id: other\n    keys:\n      - id: aaaaaaaaaaaa\n        " +
		"sha256: " +
		hex.EncodeToString(digest[:]) + "\n    quotas: {tokens: {day: 100000000}}\n"
	variables := []string{
		"SLUICE_TEAMS_FILE=" + write(t, file), "SLUICE_REDIS_URL=" + startRedis(t).url(), "SLUICE_TLS_CERT_FILE=" + certificate,
		"SLUICE_TLS_KEY_FILE=" + key, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE=" + write(t, operatorsToken),
	}
	if !isLong() {
		variables = append(variables, "SLUICE_REDIS_TIMEOUT=2s") // longer than a hiccup of a busy machine
	}
	h := &burstHouse{house: serving(t, service.URL, variables...), tls: &tls.Config{RootCAs: roots}}
	t.Cleanup(func() { h.stop() })
	transport := &http.Transport{TLSClientConfig: h.tls}
	t.Cleanup(transport.CloseIdleConnections)
	h.client = &http.Client{Transport: transport, Timeout: patience}
	browser := newBrowser(t)
	browser.Transport = transport
	h.console, h.public = consoleOf(t, h.house), "https://"+h.house.public
	if status, body := visitPage(t, browser, h.console+"/login", url.Values{"secret": {operatorsToken}}); status != http.StatusOK {
		t.Fatalf("login: %d %s", status, body)
	}
	at, _ := url.Parse(h.console)
	h.session = browser.Jar.Cookies(at)
	return h
}

// otherAsks sends a request of the other team.
func (h *burstHouse) otherAsks() int {
	status, _, _ := askAs(h.client, "other", h.public, textURL, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`)
	return status
}

// getter makes a request of a burst.
func getter(address, key string, cookies []*http.Cookie) func() *http.Request {
	return func() *http.Request {
		r, _ := http.NewRequest(http.MethodGet, address, http.NoBody)
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		return r
	}
}

// TestABurstTakesNoOthersRedis: one address sends bursts of requests that each need Redis: pages of the console with an invented
// cookie and with a session, and polls of tasks that do not exist. Another team is served throughout, and Redis never counts as
// away. LONG=1 sends 32 connections with 250 streams each.
func TestABurstTakesNoOthersRedis(t *testing.T) {
	h := newBurstHouse(t)
	if status := h.otherAsks(); status != http.StatusOK {
		t.Fatalf("the other team is answered %d", status)
	}
	invented := []*http.Cookie{{Name: h.session[0].Name, Value: strings.Repeat("x", len(h.session[0].Value))}}
	for name, request := range map[string]func() *http.Request{
		"an invented cookie":          getter(h.console+"/now", "", invented),
		"a person's pages":            getter(h.console+"/requests", "", h.session),
		"polls of tasks that are not": getter(h.public+"/api/v1/tasks/none", "test", nil),
	} {
		t.Run(name, func(t *testing.T) {
			b := burst{connections: 8, streams: 100, atOnce: consoleStreams - 2, tls: h.tls, request: request}
			if isLong() {
				b.connections, b.streams = 32, 250
			}
			ended := make(chan struct{})
			var statuses map[int]int
			go func() { statuses = b.send(); close(ended) }()
			var w beside
			w.watch(t, ended, h.otherAsks, h.admin)
			t.Logf("%v; the other team was answered %d times, %d not well; %d of %d looks saw Redis degraded", statuses, w.asked.Load(),
				w.failed.Load(), w.degraded.Load(), w.looks.Load())
			if statuses[0] > 0 {
				t.Errorf("%d requests of the burst were not answered", statuses[0])
			}
			if w.failed.Load() > 0 || w.degraded.Load() > 0 || w.asked.Load() == 0 || w.looks.Load() == 0 {
				t.Errorf("%d of %d requests of another team failed, and Redis was degraded in %d of %d looks: %s", w.failed.Load(), w.asked.Load(),
					w.degraded.Load(), w.looks.Load(), w.stateText())
			}
		})
	}
}

// refusals returns the lines of a few refused requests.
func (h *burstHouse) refusals() string {
	var lines []string
	for line := range strings.Lines(string(h.log.bytes())) {
		if strings.Contains(line, `"status":503`) && len(lines) < 3 {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestManyStreamsBeginAtOnce: none of many streams that begin at the same moment is refused, and Redis never counts as away. LONG=1 begins
// 2,000.
func TestManyStreamsBeginAtOnce(t *testing.T) {
	h := newBurstHouse(t)
	b := burst{connections: 8, streams: 50, atOnce: 50, tls: h.tls, request: func() *http.Request {
		r, _ := http.NewRequest(http.MethodPost, h.public+textURL,
			strings.NewReader(`{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`))
		r.Header.Set("Authorization", "Bearer other")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-SSE", "enable")
		return r
	}}
	rounds := 1
	if isLong() {
		b.connections, b.streams, b.atOnce, rounds = 20, 100, 100, 6
	}
	for range rounds {
		if statuses := b.send(); statuses[http.StatusOK] != b.connections*b.streams {
			t.Errorf("of %d streams were answered %v: %s", b.connections*b.streams, statuses, h.refusals())
		}
	}
	if log := string(h.log.bytes()); strings.Contains(log, "Redis is away") {
		t.Errorf("Redis counts as away:\n%.2000s", log)
	}
}
