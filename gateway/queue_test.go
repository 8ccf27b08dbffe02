package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/stores"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// later sends a request from another goroutine.
func (h *harness) later(method, path, body string, headers ...string) <-chan reading {
	return h.await(h.request(method, path, body, headers...))
}

// await is later for a request.
func (h *harness) await(r *http.Request) <-chan reading {
	answer := make(chan reading, 1)
	go func() {
		resp, err := h.client.Do(r)
		if err != nil {
			answer <- reading{err: err}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer <- reading{status: resp.StatusCode, header: resp.Header}
	}()
	return answer
}

// awaitWaiting returns once so many requests of a team wait.
func (h *harness) awaitWaiting(team string, want int) {
	h.Helper()
	for limit := time.Now().Add(20 * time.Second); h.waiting(team) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			h.Fatalf("%d requests of %s wait, not %d", h.waiting(team), team, want)
		}
	}
}

func (h *harness) waiting(team string) (n int) {
	h.gateway.Queue(func(id string, waiting, _ int) {
		if id == team {
			n = waiting
		}
	})
	return n
}

// queueOf reads the wait in Server-Timing, in ms; -1: there is none.
func queueOf(r reading) int {
	_, text, found := strings.Cut(r.header.Get("Server-Timing"), ", queue;dur=")
	n, err := strconv.Atoi(text)
	if !found || err != nil {
		return -1
	}
	return n
}

// A rate of a team, of its key or of the account, and places in flight, are waited for if the client or the team says so, for as long as
// the client says.
func TestRequestsWaitTheirTurn(t *testing.T) {
	parallel(t)
	const rate = "{requests: {per: 3s, limit: 1}}"
	for _, tt := range []struct {
		about, limits, teams, prefer string
		refused                      string // empty: it waits
	}{
		{about: "the client asks", limits: "rates: " + rate, prefer: "wait=10"},
		{about: "the team waits", limits: "rates: " + rate + "\n    queue: {wait: 10s}"},
		{about: "the client does not wait", limits: "rates: " + rate + "\n    queue: {wait: 10s}", prefer: "wait=0", refused: "admit/rate"},
		{about: "nobody asks", limits: "rates: " + rate, refused: "admit/rate"},
		{about: "the account", teams: "account: [{requests: {per: 3s, limit: 1}}]\n", prefer: "wait=10"},
		{about: "the account, and nobody asks", teams: "account: [{requests: {per: 3s, limit: 1}}]\n", refused: "admit/account"},
		{about: "too short a wait", limits: "rates: {requests: {per: 1m, limit: 1}}", prefer: "wait=2", refused: "admit/rate"},
		{about: "a quota", limits: "quotas: {requests: {day: 1}}", prefer: "wait=60", refused: "admit/quota"},
		{about: "the house", teams: "house: {quotas: {requests: {day: 1}}}\n", prefer: "wait=60", refused: "admit/house"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			parallel(t)
			h := build(t, func(p *plan) {
				if p.limits = strings.Split(tt.limits, "\n    "); tt.limits == "" {
					p.limits = nil
				}
				p.teams = tt.teams
			})
			if got := h.ask("POST", textPath, textBody, "Prefer", tt.prefer); got.status != http.StatusOK || queueOf(got) >= 0 {
				t.Fatalf("the first does not wait: %d %v", got.status, got.header)
			}
			begun := time.Now()
			got := h.ask("POST", textPath, textBody, "Prefer", tt.prefer)
			took := time.Since(begun)
			if applied := got.header.Get("Preference-Applied"); applied != tt.prefer {
				t.Errorf("Preference-Applied: %q", applied)
			}
			record := h.records.await(t, 2)[1]
			if tt.refused != "" {
				if got.header.Get("Sluice-Refusal") != tt.refused || got.header.Get("Retry-After") == "" || record.Queued != 0 || queueOf(got) >= 0 {
					t.Errorf("%d %v", got.status, got.header)
				}
				return
			}
			queued := int(record.Queued.Milliseconds())
			if got.status != http.StatusOK || queued < 1000 || queueOf(got) != queued || took < record.Queued {
				t.Errorf("%d %v after %v, %d ms are recorded", got.status, got.header, took, queued)
			}
			if record.Overhead > record.Queued/2 {
				t.Errorf("the wait counts as overhead: %v", record.Overhead)
			}
		})
	}
}

// held is an upstream that reports each request that arrives, and holds its answer until the test lets one go.
func held(p *plan) (arrived <-chan bool, release chan<- bool) {
	in, out := make(chan bool, 100), make(chan bool)
	p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in <- true
		select {
		case <-out:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})
	return in, out
}

// What waits for a place in flight has it as soon as one is free, and before those that come later and do not wait.
func TestPlacesInFlightAreWaitedFor(t *testing.T) {
	var arrived <-chan bool
	var release chan<- bool
	h := build(t, func(p *plan) {
		p.limits = []string{"concurrent: 1"}
		arrived, release = held(p)
	})
	first := h.later("POST", textPath, textBody)
	<-arrived
	h.ask("POST", textPath, textBody).wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")
	second := h.later("POST", textPath, textBody, "Prefer", "wait=30")
	h.awaitWaiting("search", 1)
	third := h.later("POST", textPath, textBody, "Prefer", "wait=30")
	h.awaitWaiting("search", 2)
	release <- true
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	h.awaitWaiting("search", 1)
	h.ask("POST", textPath, textBody).wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")
	for _, answer := range []<-chan reading{second, third} {
		release <- true
		if got := <-answer; got.status != http.StatusOK || queueOf(got) < 0 {
			t.Errorf("%+v", got)
		}
	}
	h.records.await(t, 5)
	if used, _ := h.gateway.InFlight(parse(t, h.teamsDoc).Team("search")); used != 0 {
		t.Errorf("%d are in flight", used)
	}
}

// A request that has its place while its body still arrives does not wait for one behind a request that came later.
func TestWhatHasItsPlaceDoesNotWaitForIt(t *testing.T) {
	var arrived <-chan bool
	var release chan<- bool
	h := build(t, func(p *plan) {
		p.limits = []string{"concurrent: 1"}
		arrived, release = held(p)
	})
	body, rest := io.Pipe()
	slow := h.request("POST", textPath, textBody, "Prefer", "wait=30")
	slow.Body, slow.GetBody = body, nil
	first := h.await(slow)
	team := parse(t, h.teamsDoc).Team("search")
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if used, _ := h.gateway.InFlight(team); used == 1 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the first has no place")
		}
	}
	second := h.later("POST", textPath, textBody, "Prefer", "wait=30")
	h.awaitWaiting("search", 1)
	_, _ = io.WriteString(rest, textBody)
	_ = rest.Close()
	for _, answer := range []<-chan reading{first, second} {
		select {
		case <-arrived:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing arrives at the service")
		}
		release <- true
		if got := <-answer; got.status != http.StatusOK {
			t.Errorf("%+v", got)
		}
	}
}

// While one waits for the account, one of another team that does not wait is refused, and may wait behind it.
func TestNoneOvertakesWhatWaits(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.teams = "account: [{requests: {per: 10s, limit: 10, burst: 1}}]\n" })
	h.ask("POST", textPath, textBody)
	waits := h.later("POST", textPath, textBody, "Prefer", "wait=30")
	h.awaitWaiting("search", 1)
	got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"])
	got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	if !strings.Contains(got.body, "Prefer: wait=N") || got.header.Get("Sluice-Scope") != "account" {
		t.Errorf("%v %s", got.header, got.body)
	}
	behind := h.later("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"], "Prefer", "wait=30")
	if got := <-waits; got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if got := <-behind; got.status != http.StatusOK || queueOf(got) < 900 {
		t.Errorf("%+v", got)
	}
}

// As many wait as the team's depth allows; one whose client leaves frees its place; the rest is refused when the gateway stops.
func TestTheQueueIsFullThenStops(t *testing.T) {
	h := build(t, func(p *plan) {
		p.limits = []string{"rates: {requests: {per: 1m, limit: 4, burst: 1}}", "queue: {wait: 60s, depth: 2}"}
	})
	h.ask("POST", textPath, textBody)
	var stay []<-chan reading
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := h.client.Do(h.request("POST", textPath, textBody, "Prefer", "wait=60").WithContext(ctx))
		left <- err
	}()
	h.awaitWaiting("search", 1)
	stay = append(stay, h.later("POST", textPath, textBody))
	h.awaitWaiting("search", 2)
	got := h.ask("POST", textPath, textBody)
	got.wants(t, 429, "admit/rate", "Throttling.RateQuota")
	if !strings.Contains(got.body, "as many as it may have") {
		t.Error(got.body)
	}
	leave()
	if err := <-left; err == nil {
		t.Error("it was answered")
	}
	h.awaitWaiting("search", 1)
	if record := h.records.await(t, 3)[2]; record.Status != 499 || record.Queued == 0 {
		t.Errorf("%+v", record)
	}
	stay = append(stay, h.later("POST", textPath, textBody))
	h.awaitWaiting("search", 2)
	h.gateway.BeginStop()
	for _, answer := range stay {
		if got := <-answer; got.status != http.StatusServiceUnavailable || got.header.Get("Sluice-Refusal") != "serve/stopping" ||
			got.header.Get("Retry-After") == "" {
			t.Errorf("%+v", got)
		}
	}
	if n := h.waiting("search"); n != 0 {
		t.Errorf("%d wait", n)
	}
}

// A key's own limits are waited for as its team's.
func TestAKeysLimitsAreWaitedFor(t *testing.T) {
	var arrived <-chan bool
	var release chan<- bool
	h := build(t, func(p *plan) { arrived, release = held(p) })
	ownLimits(t, h, "rates: {requests: {per: 1s, limit: 4, burst: 1}}\n        concurrent: 1")
	first := h.later("POST", textPath, textBody)
	<-arrived
	second := h.later("POST", textPath, textBody, "Prefer", "wait=30")
	h.awaitWaiting("search", 1)
	release <- true
	<-first
	release <- true
	if got := <-second; got.status != http.StatusOK || queueOf(got) < 0 {
		t.Errorf("%+v", got)
	}
}

// Repetitions of a refusal that is remembered are refused unread, but not those that may wait for what it is about.
func TestARememberedRefusalIsWaitedFor(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.limits = []string{"rates: {requests: {per: 3s, limit: 1}}"} })
	h.ask("POST", textPath, textBody)
	h.ask("POST", textPath, textBody).wants(t, 429, "admit/rate", "Throttling.RateQuota")
	if got := h.ask("POST", textPath, textBody, "Prefer", "wait=5"); got.status != http.StatusOK || queueOf(got) < 1000 {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// Clients of OpenAI's interface wait as well, and so do creations, streams and forwarded paths.
func TestEveryGenerationWaits(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) {
		p.config.OpenAI, p.config.ForwardPaths = true, pathsOf("services/other")
		p.limits = []string{"rates: {requests: {per: 1s, limit: 1}}", "endpoints: [text, multimodal, image, tasks, embeddings, other]",
			"queue: {wait: 5s}"}
		p.sim = simulator.Config{Keys: []string{upstreamKey}, TaskRate: -1}
	})
	h.ask("POST", textPath, textBody)
	for _, tt := range [][]string{
		{textPath, textBody, "X-Service-SSE", "enable"},
		{imagePath, imageBody, "X-Service-Async", "enable"},
		{imagePath, imageBody, "X-Service-Async", "enable", "Idempotency-Key", "one"},
		{frontChats, frontChat},
	} {
		got := h.ask("POST", tt[0], tt[1], tt[2:]...)
		if got.status != http.StatusOK || queueOf(got) < 1 || got.header.Get("Preference-Applied") != "" {
			t.Errorf("%v: %d %v %s", tt, got.status, got.header, got.body)
		}
	}
}

// What waited for the account is held and charged in the end as what did not: each of its tries holds anew.
func TestWhatWaitedForTheAccountIsCharged(t *testing.T) {
	parallel(t)
	for name, balances := range map[string]func(t *testing.T) stores.Balances{
		"memory": func(*testing.T) stores.Balances { return limit.NewMemory(time.Now) },
		"Redis": func(t *testing.T) stores.Balances {
			const patient = 30 * time.Second // a slow Redis is no outage
			f := failover.New(failover.Config{Store: redisstore.New(limittest.RealRedis(t)), Timeout: patient, Replicas: 1, Now: time.Now})
			t.Cleanup(func() { _ = f.Close(context.Background()) })
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			kept := balances(t)
			h := build(t, func(p *plan) {
				p.balances, p.teams = kept, "account: [{requests: {per: 1s, limit: 1}}]\nhouse: {quotas: {requests: {day: 100}}}\n"
				p.limits = []string{"quotas: {requests: {day: 100}}"}
			})
			search := &teams.Team{ID: "search", Quotas: []teams.Quota{{Unit: unit.NameRequests, Period: teams.PeriodDay, Limit: 100}}}
			const sent = 3
			for range sent {
				if got := h.ask("POST", textPath, textBody, "Prefer", "wait=30"); got.status != http.StatusOK {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			h.records.await(t, sent)
			for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if err := kept.Maintain(t.Context()); err != nil {
					t.Fatal(err)
				}
				report, err := kept.Look(t.Context(), search)
				if err != nil {
					t.Fatal(err)
				}
				if q := report.Limits[0]; q.Used == sent && q.Held == 0 {
					return
				} else if time.Now().After(until) {
					t.Fatalf("%d of %d requests are charged, %d are held", q.Used, sent, q.Held)
				}
			}
		})
	}
}

// What a client prefers is applied as whole seconds up to 60; what cannot be read leaves the team's wait, and is not said to be applied.
func TestPreferencesAreApplied(t *testing.T) {
	h := build(t, limited("rates: {requests: {per: 1h, limit: 1}}", "queue: {wait: 20s}"))
	h.ask("POST", textPath, textBody)
	for _, tt := range []struct{ prefer, applied, says string }{
		{"wait=30", "wait=30", "it fits in"}, {"wait=60", "wait=60", ""}, {"wait=61", "wait=60", ""},
		{"wait=99999999999999999999", "wait=60", ""},
		{"wait=0", "wait=0", ""}, {"wait=soon", "", ""}, {"wait=-5", "", ""}, {"wait=1.5", "", ""}, {"respond-async", "", ""}, {"", "", ""},
	} {
		got := h.ask("POST", textPath, textBody, "Prefer", tt.prefer)
		got.wants(t, 429, "admit/rate", "Throttling.RateQuota")
		if applied := got.header.Get("Preference-Applied"); applied != tt.applied || !strings.Contains(got.body, tt.says) {
			t.Errorf("%q: Preference-Applied %q, want %q: %s", tt.prefer, applied, tt.applied, got.body)
		}
	}
}

// A quota of an account is not waited for, also if what holds the rest of it may soon end; an account that cools is.
func TestAQuotaOfAnAccountIsNotWaitedFor(t *testing.T) {
	for _, lines := range [][]string{{"id: a, quotas: {requests: {day: 1}}"},
		{"id: a, quotas: {requests: {day: 1}}", `id: b, models: ["other-*"]`}} {
		h, _ := shared(t, lines)
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointModels, Stall: "before", Times: 1})
		first := h.later("POST", textPath, textBody)
		if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		got := h.ask("POST", textPath, textBody, "Prefer", "wait=60")
		got.wants(t, 429, "admit/account", "Throttling.RateQuota")
		if !strings.Contains(got.body, "quota requests-day") || time.Since(begun) > 10*time.Second {
			t.Errorf("after %s: %s", time.Since(begun), got.body)
		}
		h.sim.Release()
		<-first
	}
}
