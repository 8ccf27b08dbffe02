package main

import (
	"bytes"
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

	"sluice/gateway/mirror/store/storetest"
	"sluice/gateway/simulator"
	"sluice/policy/limit/limittest"
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
	u.serve(fmt.Sprint("127.0.0.1:", limittest.FreePort(t))) // it leaves, and comes back
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

// ending is a task's end as it was told.
type ending struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Task    string                 `json:"task_id"`
		Images  int64                  `json:"images"`
		Results []struct{ URL string } `json:"results"`
	} `json:"data"`
}

// endings are the ends that were taken, by task, how many events that are with those of pictures that were stored later, and the sum of the
// images.
func (u *unsteady) endings() (tasks map[string]ending, events, images int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	tasks = map[string]ending{}
	for id := range u.took {
		var told ending
		if err := json.Unmarshal([]byte(u.bodies[id]), &told); err != nil || told.ID != id {
			u.Errorf("%s: %s %v", id, u.bodies[id], err)
		}
		if events++; told.Type == "task.stored" {
			continue
		}
		if other, twice := tasks[told.Data.Task]; twice {
			u.Errorf("the end of %s is two events: %s and %s", told.Data.Task, id, other.ID)
		}
		tasks[told.Data.Task] = told
		images += told.Data.Images
	}
	return tasks, events, images
}

// pictures compares each picture of the ends with what the mirror has for its team, and returns how many there are.
func (r *taskReplicas) pictures(told map[string]ending) (pictures int64) {
	get := func(address string) []byte {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address, http.NoBody)
		must(r.T, err)
		request.Header.Set("Authorization", "Bearer test")
		answer, err := r.client.Do(request)
		must(r.T, err)
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if must(r.T, err); answer.StatusCode != http.StatusOK {
			r.Errorf("%s: %s %.200s", address, answer.Status, body)
		}
		return body
	}
	for task, end := range told {
		for i, result := range end.Data.Results {
			kept := get(fmt.Sprintf("%s/sluice/v1/tasks/%s/results/%d", r.base(i), task, i+1))
			if made := get(result.URL); !bytes.Equal(made, kept) {
				r.Errorf("picture %d of %s: the service has %d bytes, the mirror %d or others", i+1, task, len(made), len(kept))
			}
			pictures++
		}
	}
	return pictures
}

// Keys with the moments at which something is tried again, or counts no more: of deliveries, and of pictures.
var (
	deliveryKeys = []string{"sl1:{search}:due:jobs", "sl1:due", "sl1:{sl1:due}:seats:*"}
	pictureKeys  = []string{"sl1:{search}:works:due", "sl1:works:due"}
)

// hurry lets time pass for what waits: every moment in Redis at some keys comes now.
func hurry(t *testing.T, client redis.UniversalClient, keys []string) {
	for _, pattern := range keys {
		for _, key := range client.Keys(t.Context(), pattern).Val() {
			for _, member := range client.ZRange(t.Context(), key, 0, -1).Val() {
				client.ZAddXX(t.Context(), key, redis.Z{Score: 1, Member: member})
			}
		}
	}
}

// Tasks end while replicas are killed and the receiver fails a third and goes away. Every end is delivered at least once, always with one
// id and the same bytes, the images of all ends are those of the ledger, and each picture is in the mirror byte for byte. With LONG=1 a
// thousand tasks and a minute; without that the waits of what failed are over each second, and not by two minutes.
func TestEndingsOutliveReplicasAndReceivers(t *testing.T) {
	t.Parallel()
	tasks, away, hurries, within := 150, 3*time.Second, time.Second, 20*patience
	switch {
	case isLong():
		tasks, away, hurries, within = 1000, time.Minute, 2*time.Minute, 20*time.Minute
	case testing.Short():
		tasks = 40
	}
	receiver, dir, mirror := newUnsteady(t), t.TempDir(), "file://"+t.TempDir()
	if storetest.Installed() {
		mirror = storetest.New(t).URL()
	}
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(hookSecretText), 0o600))
	path := filepath.Join(dir, "teams.yaml")
	put(t, path, someTeams+"    hooks: [{id: jobs, url: \"http://"+receiver.address+
		"/hook\", events: [\"task.*\"], secret_file: secret}]\n    mirror: {keep: 24h}\n")
	r := startTaskReplicas(t, 3, simulator.Config{Running: 200 * time.Millisecond, TaskRate: 200},
		"SLUICE_POLL_INTERVAL=500ms", "SLUICE_TASK_QUERY_RATE=200", "SLUICE_TEAMS_FILE="+path, "SLUICE_HOOK_NETWORKS=127.0.0.0/8",
		"SLUICE_MIRROR_URL="+mirror, "SLUICE_MIRROR_PROXY=true", "SLUICE_RESULT_HOSTS=127.0.0.1", "SLUICE_RESULT_NETWORKS=127.0.0.0/8",
		"AWS_ACCESS_KEY_ID="+storetest.Keys.ID, "AWS_SECRET_ACCESS_KEY="+storetest.Keys.Secret)
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
		r.service.SetFault(simulator.Fault{On: simulator.EndpointImage,
			Task: &simulator.FaultTask{Outcome: []string{"succeed", "partial", "fail", "fail_pending"}[n%4]}})
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
	hurried, times, killed := begun, 0, false
	missing, images, charged, written := 0, int64(0), int64(0), int64(0)
	delivered := func() bool {
		told, events, sum := receiver.endings()
		missing, images, written = 0, sum, r.server.do("XLEN", "sl1:{search}:events").(int64)
		for id := range made {
			if told[id].ID == "" {
				missing++
			}
		}
		charged, _ = r.images()
		return missing == 0 && images == charged && events == written &&
			r.server.do("EXISTS", "sl1:{search}:due:jobs", "sl1:{search}:works").(int64) == 0
	}
	for !delivered() {
		if time.Since(begun) > within || t.Failed() {
			t.Fatalf("%d of %d ends were never delivered, %d events are written; %d images are delivered, %d in the ledger", missing, len(made),
				written, images, charged)
		}
		if !killed && time.Since(begun) > away {
			killed = true
			close(stop)
			killing.Wait()
		}
		if time.Sleep(100 * time.Millisecond); time.Since(hurried) > hurries {
			hurried = time.Now()
			hurry(t, r.server.admin, deliveryKeys)
			if times++; times%5 == 0 { // what a replica is storing is another's then, too
				hurry(t, r.server.admin, pictureKeys)
			}
		}
	}
	if !killed {
		close(stop)
		killing.Wait()
	}
	told, _, _ := receiver.endings()
	more, took := 0, time.Since(begun)
	if n := r.pictures(told); n != images {
		t.Errorf("%d images are told, and %d pictures", images, n)
	}
	for _, n := range receiver.took {
		if n > 1 {
			more++
		}
	}
	t.Logf("%d tasks, %d kills: %d ends delivered, %d of them more than once; %d tries were failed; %d images, each in the mirror; %v "+
		"after the last task",
		len(made), kills, len(told), more, receiver.failed, images, took.Round(time.Millisecond))
	if receiver.failed < len(told)/6 || kills == 0 {
		t.Error("that tries little")
	}
}
