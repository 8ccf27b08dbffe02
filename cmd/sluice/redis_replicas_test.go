package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway/simulator"
)

// twoKeys is a team with two keys; the second is "test2".
const twoKeys = someTeams + `      - id: 8g4k9q2m4x1c
        sha256: 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
`

// replicas starts gateways that share one Redis, with a team of two keys and some limits. Their connections to Redis are made in
// advance: on a busy machine 64 concurrent requests could not make all of theirs in time.
func replicas(t *testing.T, n int, lines ...string) (houses []*house, server *redisServer, service *simulator.Simulator) {
	t.Helper()
	server = startRedis(t)
	service, upstream := newService(t, simulator.Config{})
	teams := twoKeys
	for _, line := range lines {
		teams += "    " + line + "\n"
	}
	for range n {
		h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, teams), "SLUICE_REDIS_URL="+server.url(), "SLUICE_REDIS_TIMEOUT=5s",
			fmt.Sprintf("SLUICE_REPLICAS=%d", n))
		t.Cleanup(func() { h.stop() })
		houses = append(houses, h)
	}
	wait(t, "spare connections", func() bool {
		return connectionsOf(t, server.do("INFO", "stats").(string)) >= n*redisclient.SpareConnections
	})
	return houses, server, service
}

// span is the time between sending an admitted request and its answer; it was admitted in between.
type span struct{ sent, answered time.Time }

// hammer sends requests from concurrent workers, alternating replicas and keys, until enough returns true. It returns the spans
// of the admitted requests, and the number of refused ones.
func hammer(t *testing.T, houses []*house, workers int, enough func(n int64) bool) (admitted []span, refused int64) {
	client := newClient(t)
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	var mu sync.Mutex
	var n, no atomic.Int64
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			for !enough(n.Add(1)) {
				request, err := http.NewRequest(http.MethodPost, "http://"+houses[worker%len(houses)].public+textURL, strings.NewReader(demoText))
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("Authorization", "Bearer "+[]string{"test", "test2"}[worker/len(houses)%2])
				request.Header.Set("Content-Type", "application/json")
				s := span{sent: time.Now()}
				answer, err := client.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				s.answered = time.Now()
				switch answer.StatusCode {
				case http.StatusOK:
					mu.Lock()
					admitted = append(admitted, s)
					mu.Unlock()
				case http.StatusTooManyRequests:
					no.Add(1)
				default:
					t.Errorf("%s %s", answer.Status, answer.Header.Get("Sluice-Refusal"))
					return
				}
			}
		})
	}
	working.Wait()
	return admitted, no.Load()
}

// 64 workers with two keys of one team against a quota of 1,000, over one, two and three replicas: exactly 1,000 requests pass.
// The last ones may at first be set aside for another replica, and are given back.
func TestQuotaIsExact(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprintf("%d replicas", n), func(t *testing.T) {
			houses, server, service := replicas(t, n, "quotas: {requests: {day: 1000}}")
			begun := time.Now()
			admitted, _ := hammer(t, houses, 64, func(n int64) bool {
				if n > 3000 {
					time.Sleep(10 * time.Millisecond)
				}
				return n > 3000 && service.Count(simulator.EndpointText) >= 1000 || time.Since(begun) > patience
			})
			more, _ := hammer(t, houses, 64, func(n int64) bool { return n > 300 })
			if len(admitted) != 1000 || len(more) != 0 || service.Count(simulator.EndpointText) != 1000 {
				t.Errorf("%d were admitted, %d more then, and %d reached the service, want 1,000", len(admitted), len(more),
					service.Count(simulator.EndpointText))
			}
			wait(t, "all is settled", func() bool { return server.do("ZCARD", "sl1:{search}:open").(int64) == 0 })
		})
	}
}

// failedCalls finds the calls of Redis that failed, on the page of metrics.
var failedCalls = regexp.MustCompile(`db_client_operation_duration_seconds_count\{.*error_type="[^"]+".*`)

// A rate holds in every window, over two and three replicas that share one Redis: at most the bucket and its refill. The figure
// of a longer time: LONG=1 go test -v -run A141 ./cmd/sluice.
func TestRateIsKeptInEveryWindow(t *testing.T) {
	t.Parallel()
	long, rate, burst := 2*time.Second, 3.0, 10.0 // a busy machine passes this, too
	if isLong() {
		long, rate, burst = 20*time.Second, 300, 50
	}
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprintf("%d replicas", n), func(t *testing.T) {
			houses, _, _ := replicas(t, n, fmt.Sprintf("rates: {requests: {per: 1s, limit: %.0f, burst: %.0f}}", rate, burst))
			end := time.Now().Add(long)
			admitted, refused := hammer(t, houses, 16, func(n int64) bool { return n > 100 && time.Now().After(end) })
			over := worstWindow(admitted, burst, rate)
			t.Logf("%d admitted in %v, %d refused, in the worst window %.2f over the bound", len(admitted), long, refused, over)
			for _, h := range houses {
				if failed := failedCalls.FindAllString(h.page(t), -1); failed != nil { // without Redis the bound is twice the rate
					t.Errorf("calls of Redis failed, so these are not the shared limits: %s", failed)
				}
			}
			if over > 0 || refused == 0 || isLong() && float64(len(admitted)) < 0.8*rate*long.Seconds() {
				t.Errorf("%d admitted, %d refused, %.2f over the bound in the worst window", len(admitted), refused, over)
			}
		})
	}
}

// worstWindow returns the most requests by which a window exceeded a bucket's bound, below 0 if none did. A window counts the
// requests sent and answered inside it.
func worstWindow(admitted []span, burst, perSecond float64) float64 {
	slices.SortFunc(admitted, func(a, b span) int { return a.answered.Compare(b.answered) })
	worst := -burst
	for _, from := range admitted {
		inside := 0.0
		for _, s := range admitted {
			if s.sent.Before(from.sent) {
				continue
			}
			inside++
			worst = max(worst, inside-burst-perSecond*s.answered.Sub(from.sent).Seconds())
		}
	}
	return worst
}

// The clocks of replicas differ and jump. Only Redis's clock counts for decisions.
func TestClocksDoNotMatter(t *testing.T) {
	server := startRedis(t)
	var jump atomic.Int64
	team := []string{"rates: {requests: {per: 1h, limit: 40}}", "quotas: {tokens: {day: 1000000}}"}
	var keepers []*ledgerkeeper
	for _, off := range []time.Duration{-5 * time.Minute, 0, 5 * time.Minute} {
		clock := func() time.Time { return time.Now().Add(off + time.Duration(jump.Load())) }
		keepers = append(keepers, openReplicaBy(t, clock, server.url(), unhurried, team...))
	}
	admitted := 0
	for n := range 90 {
		if n%30 == 15 {
			jump.Store([]int64{int64(time.Hour), -int64(time.Hour), 0}[n/30])
		}
		v, err := keepers[n%3].admit(1)
		if err != nil {
			t.Fatal(err)
		}
		if v.Held != nil {
			admitted++
		} else if v.Wait > time.Hour {
			t.Fatalf("a wait of %v, longer than a refill", v.Wait)
		}
	}
	if admitted != 40 {
		t.Errorf("%d admitted of a bucket of 40", admitted)
	}
	if _, held := keepers[0].used(server, "tokens"); held != 40 {
		t.Errorf("today holds %d tokens, want 40: a clock has started another day", held)
	}
}

// The accounts in the memory of a single gateway are as exact: 64 workers against a limit of 1,000.
func TestQuotaIsExactInMemory(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, twoKeys+"    quotas: {requests: {day: 1000}}\n"))
	defer h.stop()
	if admitted, _ := hammer(t, []*house{h}, 64, func(n int64) bool { return n > 3000 }); len(admitted) != 1000 ||
		service.Count(simulator.EndpointText) != 1000 {
		t.Errorf("%d were admitted, want 1,000", len(admitted))
	}
}
