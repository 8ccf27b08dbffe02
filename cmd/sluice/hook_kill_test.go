package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/gateway/simulator"
)

// unsteady is a receiver that verifies, fails a third of what it gets, and is away for a while.
type unsteady struct {
	*testing.T
	address string
	webhook *standardwebhooks.Webhook

	mu     sync.Mutex
	server *httptest.Server
	bodies map[string]string // by the event's id, also of deliveries that failed
	tries  map[string]int
	took   map[string]int // deliveries that were answered with 204
	failed int
}

func newUnsteady(t *testing.T) *unsteady {
	wh, err := standardwebhooks.NewWebhook(hookSecretText)
	must(t, err)
	u := &unsteady{T: t, webhook: wh, bodies: map[string]string{}, tries: map[string]int{}, took: map[string]int{}}
	u.serve("127.0.0.1:0")
	t.Cleanup(u.leave)
	return u
}

// serve has it listen, again at the same address.
func (u *unsteady) serve(address string) {
	listener, err := net.Listen("tcp", address)
	must(u.T, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: u}}
	server.Start()
	u.server, u.address = server, listener.Addr().String()
}

// leave refuses connections from now on.
func (u *unsteady) leave() { u.server.CloseClientConnections(); u.server.Close() }

func (u *unsteady) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed
	}
	if err := u.webhook.Verify(body, r.Header); err != nil {
		u.Errorf("%v", err)
	}
	if u.takes(r.Header.Get("Webhook-Id"), string(body)) {
		time.Sleep(20 * time.Millisecond) // a kill in between means a second delivery
		w.WriteHeader(http.StatusNoContent)
	} else {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// takes notes a delivery, and reports whether it is taken.
func (u *unsteady) takes(id, body string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if was, again := u.bodies[id]; again && was != body {
		u.Errorf("%s came with other bytes:\n%s\n%s", id, was, body)
	}
	u.bodies[id] = body
	u.tries[id]++
	digest := fnv.New32a()
	_, _ = fmt.Fprint(digest, id, u.tries[id])
	if digest.Sum32()%3 == 0 {
		u.failed++
		return false
	}
	u.took[id]++
	return true
}

// endings are the tasks whose ends were taken, with the event's id, and the sum of their images.
func (u *unsteady) endings() (tasks map[string]string, images int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	tasks = map[string]string{}
	for id := range u.took {
		var told struct {
			ID   string `json:"id"`
			Data struct {
				Task   string `json:"task_id"`
				Images int64  `json:"images"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(u.bodies[id]), &told); err != nil || told.ID != id {
			u.Errorf("%s: %s %v", id, u.bodies[id], err)
		}
		if other, twice := tasks[told.Data.Task]; twice {
			u.Errorf("the end of %s is two events: %s and %s", told.Data.Task, id, other)
		}
		tasks[told.Data.Task] = id
		images += told.Data.Images
	}
	return tasks, images
}

// hurry lets time pass for what waits for a hook: every moment in Redis at which something is tried again, or counts no more, comes now.
func hurry(t *testing.T, client redis.UniversalClient) {
	for _, pattern := range []string{"sl1:{search}:due:jobs", "sl1:due", "sl1:{sl1:due}:seats:*"} {
		for _, key := range client.Keys(t.Context(), pattern).Val() {
			for _, member := range client.ZRange(t.Context(), key, 0, -1).Val() {
				client.ZAddXX(t.Context(), key, redis.Z{Score: 1, Member: member})
			}
		}
	}
}

// Tasks end while replicas are killed and the receiver fails a third and goes away. Every end is delivered at least once, always with one id
// and the same bytes, and the images of all ends are those of the ledger. With LONG=1 a thousand tasks and a minute; without that the waits
// of what failed are over each second, and not by two minutes.
func TestEndingsOutliveReplicasAndReceivers(t *testing.T) {
	t.Parallel()
	tasks, away, hurries, within := 150, 3*time.Second, time.Second, 20*patience
	if isLong() {
		tasks, away, hurries, within = 1000, time.Minute, 2*time.Minute, 20*time.Minute
	}
	receiver, dir := newUnsteady(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(hookSecretText), 0o600))
	path := filepath.Join(dir, "teams.yaml")
	put(t, path, someTeams+"    hooks: [{id: jobs, url: \"http://"+receiver.address+"/hook\", events: [\"task.*\"], secret_file: secret}]\n")
	r := startTaskReplicas(t, 3, simulator.Config{Running: 200 * time.Millisecond, TaskRate: 200},
		"SLUICE_POLL_INTERVAL=500ms", "SLUICE_TASK_QUERY_RATE=200", "SLUICE_TEAMS_FILE="+path, "SLUICE_HOOK_NETWORKS=127.0.0.0/8")
	stop := make(chan struct{})
	var killing, leaving sync.WaitGroup
	kills := 0
	killing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				r.restart(rand.IntN(3))
				kills++
			}
		}
	})
	made := map[string]bool{}
	for n := 0; len(made) < tasks && !t.Failed(); n++ {
		r.service.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: []string{"succeed", "partial", "fail", "fail_pending"}[n%4]}})
		if id := r.create(n, 1+n%3); id != "" { // else its replica was killed
			made[id] = true
		}
		if n == tasks/3 {
			leaving.Go(func() {
				receiver.leave()
				<-time.After(away)
				receiver.serve(receiver.address)
			})
		}
	}
	r.service.SetFault()
	leaving.Wait()
	begun := time.Now()
	hurried, killed := begun, false
	missing, images, charged, written := 0, int64(0), int64(0), int64(0)
	delivered := func() bool {
		told, sum := receiver.endings()
		missing, images, written = 0, sum, r.server.do("XLEN", "sl1:{search}:events").(int64)
		for id := range made {
			if told[id] == "" {
				missing++
			}
		}
		charged, _ = r.images()
		return missing == 0 && images == charged && int64(len(told)) == written && r.server.do("EXISTS", "sl1:{search}:due:jobs").(int64) == 0
	}
	for !delivered() {
		if time.Since(begun) > within || t.Failed() {
			t.Fatalf("%d of %d ends were never delivered, %d events are written; %d images are delivered, %d in the ledger", missing, len(made), written, images, charged)
		}
		if !killed && time.Since(begun) > away {
			killed = true
			close(stop)
			killing.Wait()
		}
		if time.Sleep(100 * time.Millisecond); time.Since(hurried) > hurries {
			hurried = time.Now()
			hurry(t, r.server.admin)
		}
	}
	if !killed {
		close(stop)
		killing.Wait()
	}
	told, _ := receiver.endings()
	more := 0
	for _, n := range receiver.took {
		if n > 1 {
			more++
		}
	}
	t.Logf("%d tasks, %d kills: %d ends delivered, %d of them more than once; %d tries were failed; %d images; %v after the last task",
		len(made), kills, len(told), more, receiver.failed, images, time.Since(begun).Round(time.Millisecond))
	if receiver.failed < len(told)/6 || kills == 0 {
		t.Error("that tries little")
	}
}
