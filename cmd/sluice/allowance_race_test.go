package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	"sluice/gateway/simulator"
)

// race is some replicas, each a process, that share one Redis, each over its own proxy, and the load on them.
type race struct {
	*testing.T
	server  *redisServer
	service *simulator.Simulator
	proxies []*toxiproxy.Proxy         // before Redis, one for each replica
	gates   []atomic.Pointer[raceGate] // one at each place, also while another replaces it
	environ []string
	binary  string       // that is launched
	heats   int          // number of heats; each has its own teams
	house   int64        // images that all teams may make in a month; 0: any number
	ahead   atomic.Int64 // of the service's clock, a duration: tasks run for an hour
}

// newRace starts replicas, each with this number as its setting. Their teams are those of the lanes, with new ones for each
// heat. If some lane has parts, there is a house.
func newRace(t *testing.T, replicas, told int, lanes []lane, variables ...string) *race {
	t.Helper()
	house := int64(0)
	if slices.ContainsFunc(lanes, func(l lane) bool { return l.parts > 0 }) {
		house = houseLimit
	}
	return newRaceOf(t, gatewayBinary(t), replicas, told, lanes, house, variables...)
}

// newRaceOf is newRace of another binary of sluice, or with another limit of the house.
func newRaceOf(t *testing.T, binary string, replicas, told int, lanes []lane, house int64, variables ...string) *race {
	t.Helper()
	r := &race{T: t, binary: binary, server: startRedis(t, "--dbfilename", "race.rdb"), gates: make([]atomic.Pointer[raceGate], replicas),
		house: house}
	service, upstream := newService(t, simulator.Config{
		Running: time.Hour, TaskRate: -1, MaxTasks: 1_000_000, KeepRequests: -1,
		Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	})
	r.service = service
	r.environ = append([]string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream",
		"SLUICE_TEAMS_FILE=" + write(t, raceTeams(lanes, house)),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_SHUTDOWN_DELAY=0", "SLUICE_POLL_INTERVAL=10s",
		"SLUICE_REDIS_TIMEOUT=" + redisTimeout.String(), fmt.Sprintf("SLUICE_REPLICAS=%d", told), "SLUICE_LOG_LEVEL=warn",
	}, variables...)
	for i := range replicas {
		r.proxies = append(r.proxies, proxied(t, r.server))
		r.launch(i, len(lanes))
	}
	return r
}

// heat is one load on all lanes.
type heat struct {
	*race
	n         int
	lanes     []lane
	counts    []laneCount
	client    *http.Client
	from      simulator.Tally
	fromHouse int64 // images that the house had used or held
	begun     time.Time
	stop      chan struct{}
	ending    sync.Once
	working   sync.WaitGroup
	answered  atomic.Int64
	killed    []victim
}

// laneCount counts the outcomes of a lane's requests.
type laneCount struct {
	admitted, refused, away, lost atomic.Int64
	late                          atomic.Int64 // admitted, and sent after another had been refused
	mu                            sync.Mutex
	tasks                         []string
	parts                         map[string]int64 // how many were admitted with each key, and for each value of the tag
}

// heat begins a load on lanes of teams without earlier requests.
func (r *race) heat(lanes []lane) *heat {
	r.Helper()
	h := &heat{
		race: r, n: r.heats % raceHeats, lanes: lanes, counts: make([]laneCount, len(lanes)), client: newClient(r.T), from: r.service.Tally(),
		stop: make(chan struct{}), begun: time.Now(),
	}
	r.heats++
	if r.heats > raceHeats {
		r.Fatal("no more heats")
	}
	if r.house > 0 {
		h.fromHouse = h.houseFigures().total()
	}
	h.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	r.Cleanup(h.end) // a test that fails ends here
	return h
}

// run makes load until it is stopped.
func (h *heat) run() {
	for i := range h.lanes {
		for worker := range h.lanes[i].workers {
			h.working.Go(func() {
				for {
					select {
					case <-h.stop:
						return
					default:
						h.ask(i, worker)
					}
				}
			})
		}
	}
}

// spend sends n requests of a lane, from all of its workers.
func (h *heat) spend(lane int, n int64) {
	var asking sync.WaitGroup
	var sent atomic.Int64
	for worker := range h.lanes[lane].workers {
		asking.Go(func() {
			for sent.Add(1) <= n {
				h.ask(lane, worker)
			}
		})
	}
	asking.Wait()
}

// turnedAwayPause is the shortest pause of a worker after a refusal, so that the machine is not busy with nothing but refusals. With the
// race detector, and other tests beside it, refusals every 50 ms leave too little of two cores for Redis.
var turnedAwayPause = longer(time.Second, 50*time.Millisecond)

// pauseAfter is the pause of a worker after a refusal that took a while. On a machine that is too slow for the load the load falls:
// otherwise calls of Redis would time out for lack of processor time, also when Redis is well again.
func pauseAfter(took time.Duration) time.Duration { return max(turnedAwayPause, 4*took) }

// ask sends one request of a lane.
func (h *heat) ask(i, worker int) {
	l, count, gate := &h.lanes[i], &h.counts[i], h.gates[h.placeOf(worker)].Load()
	request, err := http.NewRequest(http.MethodPost, "http://"+gate.public+l.request.path, strings.NewReader(l.request.body))
	if err != nil {
		h.Error(err)
		return
	}
	key, tag := l.keyOf(worker), l.tagOf(worker)
	request.Header.Set("Authorization", "Bearer "+key.secret(h.n))
	if tag != "" {
		request.Header.Set("Sluice-Tag", "project="+tag)
	}
	request.Header.Set("Content-Type", "application/json")
	switch {
	case l.request.creates:
		request.Header.Set("X-Service-Async", "enable")
	case l.streams && worker%2 == 1:
		request.Header.Set("X-Service-SSE", "enable")
	}
	pause, alone, late := l.pause, gate.alone.Load(), count.turnedAway() > 0
	begun := time.Now()
	answer, err := h.client.Do(request)
	h.answered.Add(1)
	if err != nil { // its replica was killed
		count.lost.Add(1)
		time.Sleep(20 * time.Millisecond) // its workers must not use up the machine until another replica is there
		return
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	gate.answered(i, answer.StatusCode == http.StatusOK, alone)
	switch answer.StatusCode {
	case http.StatusOK:
		count.admit(text, late, "key "+key.name, "tag "+tag)
	case http.StatusTooManyRequests:
		count.refused.Add(1)
		pause = max(pause, pauseAfter(time.Since(begun)))
	case http.StatusServiceUnavailable:
		count.away.Add(1)
		pause = max(pause, pauseAfter(time.Since(begun)))
	default:
		h.Errorf("%s %s: %s", answer.Status, answer.Header.Get("Sluice-Refusal"), text)
		pause = time.Second
	}
	time.Sleep(pause) // bounds the load, see pauseAfter
}

// turnedAway counts the requests that were answered and not admitted.
func (c *laneCount) turnedAway() int64 { return c.refused.Load() + c.away.Load() }

func (c *laneCount) admit(text []byte, late bool, parts ...string) {
	var body struct {
		Output struct {
			ID string `json:"task_id"`
		} `json:"output"`
	}
	_ = json.Unmarshal(text, &body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if body.Output.ID != "" {
		c.tasks = append(c.tasks, body.Output.ID)
	}
	if c.parts == nil {
		c.parts = map[string]int64{}
	}
	for _, part := range parts {
		c.parts[part]++
	}
	if late {
		c.late.Add(1)
	}
	c.admitted.Add(1)
}

// reaches waits until a part of every lane's limit is admitted.
func (h *heat) reaches(part float64) {
	h.Helper()
	wait(h.T, fmt.Sprintf("%.0f %% of each limit are admitted", 100*part), func() bool {
		for i := range h.lanes {
			if float64(h.counts[i].admitted.Load()*h.lanes[i].amount()) < part*float64(h.lanes[i].limit) {
				return false
			}
		}
		return true
	})
}

// amount is the part of the lane's limit that a request takes.
func (l *lane) amount() int64 {
	if l.unit == "images" {
		return l.request.images
	}
	return 1
}

// isRefused waits until each lane has had that many more refusals: everything available was spent.
func (h *heat) isRefused(times int64) {
	h.Helper()
	before := make([]int64, len(h.lanes))
	for i := range h.counts {
		before[i] = h.counts[i].refused.Load()
	}
	wait(h.T, "each limit is reached", func() bool {
		for i := range h.counts {
			if h.counts[i].refused.Load() < before[i]+times {
				return false
			}
		}
		return true
	})
}

// end stops the load, unless it has ended.
func (h *heat) end() {
	h.ending.Do(func() { close(h.stop) })
	h.working.Wait()
	h.client.CloseIdleConnections()
}
