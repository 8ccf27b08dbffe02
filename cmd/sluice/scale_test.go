package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// Limits of the teams of a scaled gateway: crowd's requests in flight, of which each of ten replicas has three, quick's rate of a second,
// and paid's quota.
const scaledFlying, scaledRate, scaledQuota = 30, 20, 300

// scaled is a number of replicas that changes, behind a balancer, in front of a service that counts.
type scaled struct {
	*testing.T
	service  *simulator.Simulator
	start    func() *house
	houses   []*house
	ready    atomic.Pointer[[]*house] // those that get requests
	next     atomic.Int64
	client   *http.Client
	mu       sync.Mutex
	flying   int          // crowd's requests at the service
	most     int          // were there at once
	quick    atomic.Int64 // of the team quick that the service did
	answered map[string]*[2]atomic.Int64
}

func newScaled(t *testing.T, replicas, most int) *scaled {
	t.Helper()
	s := &scaled{T: t, client: newClient(t), answered: map[string]*[2]atomic.Int64{}}
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	s.service = simulator.New(simulator.Config{Keys: []string{"sk-upstream"}, TaskRate: -1, KeepRequests: -1})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte("crowd")):
			s.fly(1)
			defer s.fly(-1)
			time.Sleep(300 * time.Millisecond) // the work: a slow machine keeps as many in flight, too
		case bytes.Contains(body, []byte("quick")):
			s.quick.Add(1)
		}
		s.service.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	file := "teams:\n"
	for team, lines := range map[string]string{
		"crowd": fmt.Sprintf("concurrent: %d", scaledFlying), "calm": fmt.Sprintf("concurrent: %d", scaledFlying),
		"quick": fmt.Sprintf("rates: {requests: {per: 1s, limit: %d}}", scaledRate),
		"paid":  fmt.Sprintf("quotas: {requests: {month: %d}}", scaledQuota),
	} {
		file += fmt.Sprintf("  - id: %s\n    keys: [{id: %s, sha256: %x}]\n    %s\n", team, (team + "00000000")[:12],
			sha256.Sum256([]byte("key-of-"+team)), lines)
		s.answered[team] = new([2]atomic.Int64)
	}
	server, path := startRedis(t), write(t, file)
	s.start = func() *house {
		return serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+path, "SLUICE_REDIS_URL="+server.url(), "SLUICE_REDIS_TIMEOUT=5s",
			fmt.Sprintf("SLUICE_REPLICAS=%d", most),
			"SLUICE_CONSOLE_LISTEN=off", "SLUICE_SHUTDOWN_DELAY=200ms")
	}
	t.Cleanup(func() {
		for _, h := range s.houses {
			h.stop()
		}
	})
	s.houses = append(s.houses, s.start())
	server.do("HSET", "sl1:{sl1:replicas}:parts", "since", 1) // Redis is not new
	s.become(replicas)
	return s
}

// fly counts crowd's requests at the service, and returns how many there are.
func (s *scaled) fly(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying += n
	s.most = max(s.most, s.flying)
	return s.flying
}

// become starts or stops replicas as a cluster does: a replica gets requests once it serves, and stops once it gets none.
func (s *scaled) become(n int) {
	s.Helper()
	started := make([]*house, max(n-len(s.houses), 0))
	var starting sync.WaitGroup
	for i := range started {
		starting.Go(func() { started[i] = s.start() })
	}
	starting.Wait()
	s.houses = append(s.houses, started...)
	stay, leave := s.houses[:n:n], s.houses[n:]
	s.ready.Store(&stay)
	for _, h := range leave {
		starting.Go(func() {
			if code := h.stop(); code != exitClean {
				s.Errorf("a replica that was stopped ended with %d", code)
			}
		})
	}
	starting.Wait()
	s.houses = stay
}

// load has workers of each team send requests to all replicas in turn, until done is closed.
func (s *scaled) load(done <-chan struct{}, loading *sync.WaitGroup) {
	for team, workers := range map[string]int{"crowd": 2 * scaledFlying, "calm": 3, "quick": 4, "paid": 2} {
		for range workers {
			loading.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						s.ask(team)
					}
				}
			})
		}
	}
}

func (s *scaled) ask(team string) {
	ready := *s.ready.Load()
	to := ready[s.next.Add(1)%int64(len(ready))]
	status, text, err := askAs(s.client, "key-of-"+team, "http://"+to.public, textURL, chatOf("llm-turbo", "", "user: "+team))
	switch {
	case err == nil && status == http.StatusOK:
		s.answered[team][0].Add(1)
	case err == nil && status == http.StatusTooManyRequests && team != "calm":
		s.answered[team][1].Add(1)
		time.Sleep(50 * time.Millisecond)
	default:
		s.Errorf("%s: %d %v %s", team, status, err, text)
	}
}

// TestReplicasAreScaledUnderLoad: three replicas become ten and two under load. The requests in flight of a team, a rate and a quota are
// never passed, a team inside of its limits is always served, and no request is lost.
func TestReplicasAreScaledUnderLoad(t *testing.T) {
	s := newScaled(t, 3, 10)
	begun, done := time.Now(), make(chan struct{})
	var loading sync.WaitGroup
	stop := sync.OnceFunc(func() { close(done); loading.Wait() })
	defer stop()
	s.load(done, &loading)
	wait(t, "all of the limit is used by three", func() bool { return s.fly(0) >= scaledFlying })
	for _, n := range []int{10, 2} {
		s.become(n)
		before := s.answered["calm"][0].Load()
		wait(t, "more requests", func() bool { return s.answered["calm"][0].Load() > before+100 })
		time.Sleep(longer(0, 30*time.Second))
	}
	wait(t, "all of the limit is used by two", func() bool { return s.fly(0) >= scaledFlying })
	wait(t, "all of the quota is used", func() bool { return s.answered["paid"][0].Load() >= scaledQuota })
	stop()
	lasted := time.Since(begun)
	if s.most > scaledFlying+10-1 { // each share is rounded up
		t.Errorf("%d requests of a team were in flight, at most %d may be", s.most, scaledFlying)
	}
	if n, most := float64(s.quick.Load()), scaledRate*(1+lasted.Seconds()); n > most {
		t.Errorf("%.0f requests of a team were done in %v, at most %.0f may be", n, lasted, most)
	}
	if n := s.answered["paid"][0].Load(); n != scaledQuota {
		t.Errorf("%d requests of a team were admitted, its quota is %d", n, scaledQuota)
	}
	for team, n := range s.answered {
		t.Logf("%s: %d answered, %d refused in %v", team, n[0].Load(), n[1].Load(), lasted)
	}
}
