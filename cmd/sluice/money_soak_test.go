package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// moneySoak is three replicas with one Redis in front of a service that writes a bill, and clients of every kind.
type moneySoak struct {
	*testing.T
	teams   []string
	server  *redisServer
	service *simulator.Simulator
	environ []string
	gates   [3]atomic.Pointer[gatewayProcess] // nil: stopped
	client  *http.Client
	begun   time.Time
	tasks   sync.Map // ids of tasks whose client polls them, with the key of its team
	sent    atomic.Int64
	lost    atomic.Int64 // without an answer: the replica was killed
	media   atomic.Int64 // the most tokens that a request with media used; a hold counts the text of those alone
	behind  atomic.Bool  // the replicas settle more slowly than clients ask
}

// mediaModel is the model of all requests with media.
const mediaModel = "llm-vl-max"

// soakTeam is the team of the money soak.
const soakTeam = "  - id: search\n    keys:\n      - id: 7f3k9q2m4x1c\n        sha256: " + testsDigest + "\n"

func newMoneySoak(t *testing.T) *moneySoak {
	t.Helper()
	s := prepareSoak(t, simulator.Config{KeepRequests: -1}, soakTeam)
	s.start()
	return s
}

// prepareSoak starts everything but the replicas, whose settings the caller may add to.
func prepareSoak(t *testing.T, of simulator.Config, teamLines string) *moneySoak {
	t.Helper()
	s := &moneySoak{T: t, teams: []string{"search"}, server: startRedis(t), client: newClient(t), begun: time.Now().UTC()}
	of.Pending, of.Running, of.FrameDelay, of.TaskRate, of.MaxTasks = 200*time.Millisecond, time.Second, 2*time.Millisecond, -1, 1_000_000
	service, upstream := newService(t, of)
	s.service = service
	file := write(t, demoPrices(t, teamLines))
	s.environ = []string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + file,
		"SLUICE_REDIS_URL=" + s.server.url(),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_LISTEN=off", "SLUICE_SHUTDOWN_DELAY=0",
		"SLUICE_REPLICAS=3",
		"SLUICE_REDIS_TIMEOUT=10s", "SLUICE_POLL_INTERVAL=200ms", "SLUICE_TASK_QUERY_RATE=1000", "SLUICE_HEADER_TIMEOUT=30s",
		"SLUICE_IDLE_TIMEOUT=10s", "SLUICE_LOG_LEVEL=info",
	}
	return s
}

// start starts the replicas.
func (s *moneySoak) start() {
	s.Helper()
	for i := range s.gates {
		s.gates[i].Store(startGatewayProcess(s.T, s.environ))
	}
}

// replace kills a replica and starts another.
func (s *moneySoak) replace(i int) {
	s.Helper()
	s.gates[i].Swap(nil).kill()
	s.gates[i].Store(startGatewayProcess(s.T, s.environ))
}

// open counts the holds of requests that are no tasks, and those of tasks.
func (s *moneySoak) open() (requests, tasks int64) {
	s.Helper()
	for _, team := range s.teams {
		prefix := "sl1:{" + team + "}:"
		read := s.server.do("EVAL", readBooks, 6, prefix+"open", prefix+"hold:", prefix+"aside", prefix+"quota", prefix+"none",
			prefix+"none").([]any)[0].([]any)
		requests, tasks = requests+read[0].(int64)-read[2].(int64), tasks+read[2].(int64)
	}
	return requests, tasks
}

// billsItems checks that the bill has everything that the service charges for.
func (s *moneySoak) billsItems(bill string) {
	s.Helper()
	for _, item := range []string{
		"input tokens", "input tokens (input above 2000)", "cache hit input tokens", "cache hit input tokens (input above 2000)",
		"explicit cache hit input tokens",
		"cache creation input tokens", "image input tokens", "video input tokens", "audio input tokens", "output tokens",
		"thinking output tokens", "images up to 1048576 pixels", "images up to 4194304 pixels", "images",
	} {
		if !strings.Contains(bill, ","+item+",") {
			s.Errorf("the bill lacks %s", item)
		}
	}
}

// reconciled is as much of sluice reconcile --json as the soak reads.
type reconciled struct {
	Sums map[string]struct {
		Bill, Ledger, Estimated json.Number
	}
	Differences []struct {
		Day, Model, Kind string
		Bill, Ledger     struct {
			Quantity int64
			Amount   float64
		}
		Estimated struct {
			Quantity, Requests int64
			Amount             float64
		}
	}
}

// reconcile lays the service's bill beside the ledger as an operator does: that of an account, or of all.
func (s *moneySoak) reconcile(account ...string) (r reconciled, code int) {
	s.Helper()
	var bill bytes.Buffer
	must(s.T, s.service.Bill(&bill, account...))
	file := filepath.Join(s.TempDir(), "bill.csv")
	must(s.T, os.WriteFile(file, bill.Bytes(), 0o600))
	args := []string{"reconcile", file, "--map", "../../docs/demo/map.yaml", "--tolerance", "0%", "--json"}
	today := s.begun.UTC().Format(time.DateOnly)
	args = append(args, "--from", today, "--to", today) // the bill has hours of another zone, and no whole day of UTC
	if len(account) > 0 {
		args = append(args, "--account", account[0])
	} else {
		s.billsItems(bill.String())
	}
	got := command(s.Context(), s.environ, args...)
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		s.Fatalf("%v: %+v", err, got)
	}
	if time.Now().UTC().Day() != s.begun.Day() {
		s.Skip("the service and the gateway may have counted requests at midnight on different days")
	}
	s.Logf("%v: %d requests, %d without an answer; %+v", account, s.sent.Load(), s.lost.Load(), r.Sums)
	return r, got.code
}

// onlyEstimates checks that the bill differs from the ledger in nothing but what the ledger flags as estimated: an estimate is at least
// what the service did, because it is what was held, or it is of work that the service never saw. Of a request with media it may be
// all but the media.
func (s *moneySoak) onlyEstimates(r *reconciled) {
	s.Helper()
	for _, d := range r.Differences {
		s.Logf("%+v", d)
		tokens, money := d.Ledger.Quantity-d.Bill.Quantity, d.Ledger.Amount-d.Bill.Amount
		less, lessMoney := int64(0), 0.0
		if d.Model == mediaModel { // all its requests are alike
			less = d.Estimated.Requests * s.media.Load()
			lessMoney = float64(less) * d.Bill.Amount / float64(d.Bill.Quantity)
		}
		if d.Estimated.Requests == 0 || tokens < -less || tokens > d.Estimated.Quantity || money < -lessMoney-1e-9 ||
			money > d.Estimated.Amount+1e-9 {
			s.Errorf("%s %s %s differs, and not by an estimate: %+v", d.Day, d.Model, d.Kind, d)
		}
	}
}

// TestTheServicesBillIsTheLedgers: after requests of every kind on both fronts, clients that leave, and a replica that is killed while its
// tasks run, the service's bill and the ledger are equal, by day, model and kind.
func TestTheServicesBillIsTheLedgers(t *testing.T) {
	t.Parallel()
	s := newMoneySoak(t)
	enough := make(chan struct{})
	close(enough)
	s.load(enough) // each kind once
	wait(t, "only tasks are open", func() bool { requests, _ := s.open(); return requests == 0 })
	s.gates[0].Swap(nil).kill()
	s.load(enough)
	s.gates[0].Store(startGatewayProcess(t, s.environ))
	s.load(enough)
	s.poll()
	wait(t, "all is settled", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
	r, code := s.reconcile()
	if code != exitClean || len(r.Differences) > 0 || s.lost.Load() > 0 {
		t.Errorf("exit code %d, %d requests were lost\n%+v", code, s.lost.Load(), r.Differences)
	}

	s.service.SetFault(simulator.Fault{On: simulator.EndpointText, NoUsage: true})
	s.ask(s.gates[1].Load(), soakRequest{path: textURL, body: chatOf("llm-turbo", "", "user: What is a sluice?")})
	wait(t, "it is settled", func() bool { requests, _ := s.open(); return requests == 0 })
	r, code = s.reconcile()
	if code != exitFailure || len(r.Differences) == 0 {
		t.Errorf("an answer without usage: exit code %d, %+v", code, r.Differences)
	}
	for _, d := range r.Differences {
		if d.Model != "llm-turbo" || d.Estimated.Requests != 1 {
			t.Errorf("an answer without usage: %+v", d)
		}
	}
}

// TestTheServicesBillIsTheLedgersForLong: for ten minutes, with replicas that are killed under load. What they did not report is
// charged as it was held, and flagged as estimated.
func TestTheServicesBillIsTheLedgersForLong(t *testing.T) {
	if !isLong() {
		t.Skip("LONG=1 takes ten minutes")
	}
	s := newMoneySoak(t)
	done := make(chan struct{})
	ending := time.AfterFunc(10*time.Minute, func() { close(done) })
	defer ending.Stop()
	var loading sync.WaitGroup
	loading.Go(func() { s.load(done) })
	loading.Go(func() { s.pace(done) })
	for i := range 6 {
		before := s.sent.Load()
		wait(t, "more requests", func() bool { return s.sent.Load() > before+500 })
		s.replace(i % len(s.gates))
	}
	loading.Wait()
	s.poll()
	wait(t, "all is settled, or its lease has ended", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
	r, _ := s.reconcile()
	s.onlyEstimates(&r)
}
