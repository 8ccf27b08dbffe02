package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
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
	binary  string // that is launched
	heats   int    // number of heats; each has its own teams
}

// lane is a team and its requests.
type lane struct {
	name    string
	limits  string // lines of the teams file
	workers int
	pause   time.Duration // of a worker, after each request
	limit   int64
	unit    string // of the limit; empty: open tasks
	request raceRequest
	streams bool // every other worker of texts asks for a stream
}

// raceRequest is a request, and the amount that the service counts for it.
type raceRequest struct {
	path, body, endpoint string
	creates              bool
	images               int64
}

var (
	oneText  = raceRequest{path: textURL, body: demoText, endpoint: simulator.EndpointText}
	oneImage = raceRequest{path: "/api/v1" + multimodalPath, body: demoPicture, endpoint: simulator.EndpointMultimodal, images: 1}
	oneTask  = raceRequest{path: imageURL, body: fmt.Sprintf(imageTask, 1), endpoint: simulator.EndpointImage, creates: true, images: 1}
	twoTask  = raceRequest{path: imageURL, body: fmt.Sprintf(imageTask, 2), endpoint: simulator.EndpointImage, creates: true, images: 2}
	oldTask  = raceRequest{
		path: "/api/v1/services/aigc/text2image/image-synthesis", body: `{"model":"gen2.5-t2i","input":{"prompt":"A lighthouse"},"parameters":{"n":1}}`,
		endpoint: simulator.EndpointSynthesis, creates: true, images: 1,
	}
)

// theLanes are the lanes of docs/performance.md: 1,000 requests, 600 images, and tasks; 64 workers in total.
var theLanes = []lane{
	{name: "requests", limits: "quotas: {requests: {month: 1000}}", workers: 34, limit: 1000, unit: "requests", request: oneText},
	{name: "images", limits: "quotas: {images: {month: 600}}", workers: 20, limit: 600, unit: "images", request: oneImage},
	{name: "tasks", limits: "open_tasks: 300", workers: 10, limit: 300, request: oneTask},
}

const raceHeats = 64 // the most of one race, except a soak

// newRace starts replicas, each with this number as its setting. Their teams are those of the lanes, with new ones for each
// heat.
func newRace(t *testing.T, replicas, told int, lanes []lane, variables ...string) *race {
	t.Helper()
	return newRaceOf(t, os.Args[0], replicas, told, lanes, variables...)
}

// newRaceOf is newRace of another binary of sluice.
func newRaceOf(t *testing.T, binary string, replicas, told int, lanes []lane, variables ...string) *race {
	t.Helper()
	r := &race{T: t, binary: binary, server: startRedis(t, "--dbfilename", "race.rdb"), gates: make([]atomic.Pointer[raceGate], replicas)}
	service, upstream := newService(t, simulator.Config{Running: time.Hour, TaskRate: -1, MaxTasks: 1_000_000, KeepRequests: -1})
	r.service = service
	var doc strings.Builder
	doc.WriteString("currency: CNY\nprices: [{model: \"*\", image: 0.20}]\nteams:\n")
	for heat := range raceHeats {
		for _, l := range lanes {
			fmt.Fprintf(&doc, "  - id: %s\n    keys:\n      - id: %s\n        sha256: %x\n    %s\n", l.team(heat), l.keyID(heat), sha256.Sum256([]byte(l.key(heat))), l.limits)
		}
	}
	r.environ = append([]string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, doc.String()),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_SHUTDOWN_DELAY=0", "SLUICE_POLL_INTERVAL=10s",
		"SLUICE_REDIS_TIMEOUT=" + redisTimeout.String(), fmt.Sprintf("SLUICE_REPLICAS=%d", told), "SLUICE_LOG_LEVEL=warn",
	}, variables...)
	for i := range replicas {
		r.proxies = append(r.proxies, proxied(t, r.server))
		r.launch(i, len(lanes))
	}
	return r
}

func (l *lane) team(heat int) string  { return fmt.Sprintf("%s-%d", l.name, heat) }
func (l *lane) key(heat int) string   { return "race-" + l.team(heat) }
func (l *lane) keyID(heat int) string { return fmt.Sprintf("%.4s%08d", l.name+"0000", heat) }

// heat is one load on all lanes.
type heat struct {
	*race
	n        int
	lanes    []lane
	counts   []laneCount
	client   *http.Client
	from     simulator.Tally
	stop     chan struct{}
	ending   sync.Once
	working  sync.WaitGroup
	answered atomic.Int64
	killed   []victim
}

// laneCount counts the outcomes of a lane's requests.
type laneCount struct {
	admitted, refused, away, lost atomic.Int64
	late                          atomic.Int64 // admitted, and sent after another had been refused
	mu                            sync.Mutex
	tasks                         []string
}

// heat begins a load on lanes of teams without earlier requests.
func (r *race) heat(lanes []lane) *heat {
	r.Helper()
	h := &heat{race: r, n: r.heats % raceHeats, lanes: lanes, counts: make([]laneCount, len(lanes)), client: newClient(r.T), from: r.service.Tally(), stop: make(chan struct{})}
	r.heats++
	if r.heats > raceHeats {
		r.Fatal("no more heats")
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

// turnedAwayPause is the pause of a worker after a refusal, so that the machine is not busy with nothing but refusals.
const turnedAwayPause = 50 * time.Millisecond

// ask sends one request of a lane.
func (h *heat) ask(i, worker int) {
	l, count, gate := &h.lanes[i], &h.counts[i], h.gates[h.placeOf(worker)].Load()
	request, err := http.NewRequest(http.MethodPost, "http://"+gate.public+l.request.path, strings.NewReader(l.request.body))
	if err != nil {
		h.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+l.key(h.n))
	request.Header.Set("Content-Type", "application/json")
	switch {
	case l.request.creates:
		request.Header.Set("X-Service-Async", "enable")
	case l.streams && worker%2 == 1:
		request.Header.Set("X-Service-SSE", "enable")
	}
	pause, alone, late := l.pause, gate.alone.Load(), count.turnedAway() > 0
	answer, err := h.client.Do(request)
	h.answered.Add(1)
	if err != nil { // its replica was killed
		count.lost.Add(1)
		time.Sleep(20 * time.Millisecond)
		return
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	gate.answered(i, answer.StatusCode == http.StatusOK, alone)
	switch answer.StatusCode {
	case http.StatusOK:
		count.admit(text, late)
	case http.StatusTooManyRequests:
		count.refused.Add(1)
		pause = max(pause, turnedAwayPause)
	case http.StatusServiceUnavailable:
		count.away.Add(1)
		pause = max(pause, turnedAwayPause)
	default:
		h.Errorf("%s %s: %s", answer.Status, answer.Header.Get("Sluice-Refusal"), text)
		pause = time.Second
	}
	time.Sleep(pause)
}

// turnedAway counts the requests that were answered and not admitted.
func (c *laneCount) turnedAway() int64 { return c.refused.Load() + c.away.Load() }

func (c *laneCount) admit(text []byte, late bool) {
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
