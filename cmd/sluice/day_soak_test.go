package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// What the soak of a day's memory has: teams, requests a second unless SOAK_RATE says another number, tasks in the whole of it, and values
// of a tag. A shorter soak has its part of the tasks, and one with fewer requests its part of the values: each replica knows those that it
// met, so that with all of them its memory would grow for hours.
const daysTeams, daysRate, daysTasks, daysTags, daysLength = 24, 300, 10_000, 2000, 2 * time.Hour

// soakLength is how long a soak takes: SOAK, or what is usual.
func soakLength(t *testing.T, usual time.Duration) time.Duration {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		length, err := time.ParseDuration(text)
		must(t, err)
		return length
	}
	return usual
}

// daySoak is a money soak of many teams.
type daySoak struct {
	*moneySoak
	length  time.Duration
	rate    float64 // requests a second
	begins  time.Time
	storm   atomic.Bool // every second request is of a team that has too few
	skipped atomic.Int64
	mu      sync.Mutex
	seen    map[string]int
	sizes   [4]map[string]*mean // of each quarter
}

// mean is the mean of what was measured.
type mean struct{ sum, n float64 }

func (m *mean) of() float64 { return m.sum / max(m.n, 1) }

func dayKey(n int) string { return fmt.Sprintf("key-of-team-%02d", n) }

func newDaySoak(t *testing.T, length time.Duration) *daySoak {
	t.Helper()
	s := &daySoak{length: length, rate: daysRate, seen: map[string]int{}}
	if text := os.Getenv("SOAK_RATE"); text != "" {
		var err error
		s.rate, err = strconv.ParseFloat(text, 64)
		must(t, err)
	}
	var lines strings.Builder
	var names []string
	for n := range daysTeams {
		names = append(names, fmt.Sprintf("team-%02d", n))
		fmt.Fprintf(&lines, "  - id: %s\n    keys: [{id: %s, sha256: %x}]\n", names[n], strings.Repeat(string(rune('a'+n)), 12),
			sha256.Sum256([]byte(dayKey(n))))
		switch n % 4 {
		case 0:
			lines.WriteString("    tag_key: project\n    tag_quotas: {images: {month: 1000000}}\n")
		case 1:
			lines.WriteString("    quotas: {requests: {month: 100000000}, spend: {month: 1000000}}\n    concurrent: 1000\n")
		case 2:
			lines.WriteString("    rates: {requests: {per: 1s, limit: 5}}\n")
		}
	}
	s.moneySoak = prepareSoak(t, simulator.Config{KeepRequests: -1}, lines.String())
	s.teams, s.environ = names, append(s.environ, "SLUICE_ADMIN_PPROF=true") // for who asks what grew
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	s.server.kill()
	s.server.args = append(s.server.args, "--appendonly", "yes")
	s.server.start()
	s.start()
	return s
}

// load sends so many requests a second for as long as the soak takes.
func (s *daySoak) load() {
	var texts, tasks []soakRequest
	for _, q := range soakRequests() {
		if q.header == "X-Service-Async" {
			tasks = append(tasks, q)
		} else {
			texts = append(texts, q)
		}
	}
	work := make(chan soakRequest)
	var working sync.WaitGroup
	for range 128 {
		working.Go(func() {
			for q := range work {
				s.request(q)
			}
		})
	}
	ofTasks := daysTasks / (s.rate * daysLength.Seconds())
	for n := 0; ; n++ {
		at := s.begins.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))
		if at.Sub(s.begins) > s.length {
			break
		}
		time.Sleep(time.Until(at))
		q := texts[n%len(texts)]
		if rand.Float64() < ofTasks {
			q = tasks[n%len(tasks)]
		} else if !strings.Contains(q.path, "chat") && q.path != textURL && n%20 > 0 { // most requests are chats
			q = texts[n%8]
		}
		select {
		case work <- q:
		case <-time.After(time.Second):
			s.skipped.Add(1)
		}
	}
	close(work)
	working.Wait()
}

// request sends a request of some team, and notes what became of it.
func (s *daySoak) request(q soakRequest) {
	team, headers := rand.IntN(daysTeams), []string(nil)
	if s.storm.Load() && rand.IntN(2) == 0 {
		team = 2
	}
	if team%4 == 0 {
		headers = []string{"Sluice-Tag", fmt.Sprint("project=p", rand.IntN(max(int(daysTags*s.rate/daysRate), 1)))}
	}
	answer, text := s.send(s.anyGate(), q, dayKey(team), headers...)
	if answer == nil {
		return
	}
	refused := answer.Header.Get("Sluice-Refusal")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[fmt.Sprint(answer.StatusCode, " ", refused)]++
	switch answer.StatusCode {
	case http.StatusOK, http.StatusTooManyRequests:
	case http.StatusServiceUnavailable: // Redis was restarted
	default:
		s.Errorf("%s %s: %s %s", q.path, q.body, answer.Status, text)
	}
}

// events makes storms of refusals, by the gateway's limits and by the service, and restarts Redis, until done is closed.
func (s *daySoak) events(done <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-time.After(s.length / 60):
		}
		switch {
		case n%6 == 0:
			s.server.signal(syscall.SIGTERM) // it writes its file to the end
			_ = s.server.process.Wait()
			s.server.start()
		case n%3 == 0:
			s.service.SetFault(simulator.Fault{On: simulator.EndpointModels, Error: &simulator.FaultError{Code: "Throttling"}, Times: 1000})
		default:
			s.storm.Store(true)
			time.Sleep(s.length / 200)
			s.storm.Store(false)
		}
	}
}

// follow polls the tasks whose clients wait for them, until done is closed.
func (s *daySoak) follow(done <-chan struct{}) {
	for {
		s.tasks.Range(func(id, key any) bool {
			_, text, err := askAs(s.client, key.(string), "http://"+s.anyGate().public, "/api/v1/tasks/"+id.(string), "")
			if err == nil && strings.Contains(text, `"task_status":"SUCCEEDED"`) {
				s.tasks.Delete(id)
			}
			return true
		})
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
	}
}

// daysSizes are metrics of a process that must not grow, by what they are.
var daysSizes = map[string]*regexp.Regexp{
	"RSS": sizeOf("process_resident_memory_bytes"), "heap's goal": sizeOf("go_memory_gc_goal_bytes"),
	"goroutines": sizeOf("go_goroutine_count"), "descriptors": sizeOf("process_open_fds"),
}

func sizeOf(metric string) *regexp.Regexp { return regexp.MustCompile(`(?m)^` + metric + ` (\S+)$`) }

// measure reads the replicas' sizes ten times a minute or more, until done is closed.
func (s *daySoak) measure(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(min(6*time.Second, s.length/40)):
		}
		quarter := min(int(4*time.Since(s.begins)/s.length), 3)
		note := func(what string, n float64) {
			if s.sizes[quarter] == nil {
				s.sizes[quarter] = map[string]*mean{}
			}
			if s.sizes[quarter][what] == nil {
				s.sizes[quarter][what] = &mean{}
			}
			s.sizes[quarter][what].sum += n
			s.sizes[quarter][what].n++
		}
		for i := range s.gates {
			_, page, err := askAs(s.client, "", "http://"+s.gates[i].Load().admin, "/metrics", "")
			must(s.T, err)
			for what, line := range daysSizes {
				n, err := strconv.ParseFloat(line.FindStringSubmatch(page)[1], 64)
				must(s.T, err)
				note(what, n)
			}
		}
	}
}

// flat compares the last quarter's mean with the second's.
func (s *daySoak) flat(what string, most, slack float64) {
	s.Helper()
	second, last := s.sizes[1][what].of(), s.sizes[3][what].of()
	s.Logf("%s by quarters: %.4g %.4g %.4g %.4g", what, s.sizes[0][what].of(), second, s.sizes[2][what].of(), last)
	if last > most*second+slack {
		s.Errorf("%s: %.4g in the last quarter, %.4g in the second", what, last, second)
	}
}

// TestMemoryOverADay: 24 teams ask for two hours, or as long as SOAK says, 300 requests a second, with streams, storms of 429, 2,000
// values of a tag, 10,000 tasks, clients that leave, and restarts of Redis. The replicas' memory does not grow, and the ledger is the
// service's bill.
func TestMemoryOverADay(t *testing.T) {
	if !isLong() {
		t.Skip("LONG=1 takes two hours, or as long as SOAK says")
	}
	s := newDaySoak(t, soakLength(t, daysLength))
	done := make(chan struct{})
	var running sync.WaitGroup
	s.begins = time.Now()
	running.Go(func() { s.events(done) })
	running.Go(func() { s.follow(done) })
	running.Go(func() { s.measure(done) })
	s.load()
	close(done)
	running.Wait()
	s.service.SetFault()
	s.Logf("%v: %d requests of %d, %d not sent in time, %d without an answer; %v", s.length, s.sent.Load(), int(s.rate*s.length.Seconds()),
		s.skipped.Load(), s.lost.Load(), s.seen)
	s.Logf("Redis: %s", regexp.MustCompile(`used_memory_human:\S+`).FindString(fmt.Sprint(s.server.do("INFO", "memory"))))
	s.flat("RSS", 1.05, 0)
	s.flat("heap's goal", 1.1, 0)
	s.flat("goroutines", 1.1, 16)
	s.flat("descriptors", 1.1, 16)
	s.poll()
	wait(t, "all is settled, or its lease has ended", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
	r, _ := s.reconcile()
	s.onlyEstimates(&r)
	if len(r.Differences) > 0 || s.lost.Load() > 0 {
		t.Errorf("%d differences, %d requests had no answer", len(r.Differences), s.lost.Load())
	}
}
