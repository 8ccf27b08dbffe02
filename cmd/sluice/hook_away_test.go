package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/mirror/store/storetest"
	"sluice/gateway/simulator"
)

// hanging accepts connections and never answers, as a receiver or a store that hangs; asked counts them.
func hanging(t *testing.T) (address string, asked *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	asked = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String(), asked
}

// timed is a gateway whose answers are timed.
type timed struct {
	*testing.T
	service *simulator.Simulator
	base    string
	client  *http.Client
	tasks   []string
	mu      sync.Mutex
	took    map[string][]time.Duration // by what was asked
}

// ask sends a request, notes how long its answer took, and returns it.
func (g *timed) ask(what, method, path, body string, header http.Header) string {
	r, err := http.NewRequestWithContext(g.Context(), method, g.base+path, strings.NewReader(body))
	must(g.T, err)
	r.Header = header.Clone()
	r.Header.Set("Authorization", "Bearer test")
	r.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	answer, err := g.client.Do(r)
	must(g.T, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if took := time.Since(begun); err != nil || answer.StatusCode != http.StatusOK {
		g.Errorf("%s: %s %v %.300s", what, answer.Status, err, text)
	} else {
		g.mu.Lock()
		g.took[what] = append(g.took[what], took)
		g.mu.Unlock()
	}
	return string(text)
}

// round creates a task, of which every second fails, and sends polls and generations, four at a time.
func (g *timed) round(requests int) {
	g.service.SetFault(simulator.Fault{On: simulator.EndpointImage,
		Task: &simulator.FaultTask{Outcome: []string{"fail", "succeed"}[len(g.tasks)%2]}})
	made := g.ask("creation", http.MethodPost, imageURL, fmt.Sprintf(imageTask, 2), http.Header{"X-Service-Async": {"enable"}})
	if _, id, found := strings.Cut(made, `"task_id":"`); found {
		g.tasks = append(g.tasks, id[:strings.IndexByte(id, '"')])
	}
	var asking sync.WaitGroup
	for w := range 4 {
		asking.Go(func() {
			for i := range requests / 4 {
				if g.ask("generation", http.MethodPost, textURL, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"hello"}]}}`,
					http.Header{}); len(g.tasks) > 0 {
					g.ask("poll", http.MethodGet, "/api/v1/tasks/"+g.tasks[(w+4*i)%len(g.tasks)], "", http.Header{})
				}
			}
		})
	}
	asking.Wait()
}

// With the store and every hook away, which hang or refuse, polls and generations are answered as without any. The figures are logged;
// LONG=1 compares them.
func TestNobodyWaitsForHooksOrTheStore(t *testing.T) {
	rounds, requests := 4, 40
	if isLong() {
		rounds, requests = 60, 400
	}
	hangs, posted := hanging(t)
	store, put := hanging(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(hookSecretText), 0o600))
	hook := `{id: %s, url: "http://%s/hook", events: ["*"], secret_file: secret}`
	closed := "127.0.0.1:1"
	path := filepath.Join(dir, "teams.yaml")
	team := someTeams + "    quotas: {images: {day: 1000}}\n    alert: [1, 5, 10]\n    mirror: {keep: 24h}\n    hooks: [" +
		fmt.Sprintf(hook, "hangs", hangs) + ", " + fmt.Sprintf(hook, "refuses", closed) + "]\n"
	must(t, os.WriteFile(path, []byte(team), 0o600))
	var gates [2]*timed
	for i, variables := range [2][]string{nil, {
		"SLUICE_TEAMS_FILE=" + path, "SLUICE_HOOK_NETWORKS=127.0.0.0/8", "SLUICE_MIRROR_URL=s3://pictures?endpoint=http://" + store,
		"SLUICE_RESULT_HOSTS=127.0.0.1", "SLUICE_RESULT_NETWORKS=127.0.0.0/8", "AWS_ACCESS_KEY_ID=" + storetest.Keys.ID,
		"AWS_SECRET_ACCESS_KEY=" + storetest.Keys.Secret,
	}} {
		simulated, service := newService(t, simulator.Config{TaskRate: -1})
		p := startGatewayProcess(t, append(crashEnviron(t, startRedis(t), service.URL), append(variables, "SLUICE_POLL_INTERVAL=100ms")...))
		gates[i] = &timed{T: t, service: simulated, base: "http://" + p.public, client: newClient(t), took: map[string][]time.Duration{}}
		for range 2 { // connections are made, and there is something to deliver and to store
			gates[i].round(requests)
		}
		gates[i].took = map[string][]time.Duration{}
	}
	wait(t, "the hook and the store are tried", func() bool { return posted.Load() > 0 && put.Load() > 0 })
	for n := range rounds {
		for i := range gates {
			gates[(n+i)%2].round(requests)
		}
	}
	for _, what := range []string{"poll", "generation"} {
		without, with := gates[0].took[what], gates[1].took[what]
		a, b := percentile(without, 0.99), percentile(with, 0.99)
		t.Logf("%d of each, %s: p50 %v without hooks and store, %v with both away; p99 %v and %v", len(with), what, percentile(without, 0.5),
			percentile(with, 0.5), a, b)
		if isLong() && b > a*3/2+2*time.Millisecond {
			t.Errorf("%s: p99 %v with hooks and the store away, %v without", what, b, a)
		}
	}
}
