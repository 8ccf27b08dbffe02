package main

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// ledgerImages are the images in today's ledger, which only a charge changes.
func (r *taskReplicas) ledgerImages() int64 {
	return r.ledger(func(row string) bool { return row == "gen2.6-image|image" })
}

// usedImages are those, and the images of charges that Redis lost and the replicas have restored.
func (r *taskReplicas) usedImages() int64 { return r.ledger(func(string) bool { return true }) }

func (r *taskReplicas) ledger(counts func(row string) bool) (images int64) {
	key := "sl1:{search}:use:" + time.Now().UTC().Format("20060102")
	for field, value := range r.server.admin.HGetAll(r.Context(), key).Val() {
		if row, ok := strings.CutSuffix(field, "|images"); ok && counts(row) {
			n, _ := strconv.ParseInt(value, 10, 64)
			images += n
		}
	}
	return images
}

// ask polls; it may be refused while the task is unknown. It returns the answer's header, nil without an answer.
func (r *taskReplicas) ask(i int, id string) http.Header {
	request, err := http.NewRequest(http.MethodGet, r.base(i)+"/api/v1/tasks/"+id, http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	answer, err := r.client.Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.Header
}

// together calls a function for each of the tasks, several at a time.
func together(ids []string, do func(id *string)) {
	var doing sync.WaitGroup
	for w := range 16 {
		doing.Go(func() {
			for i := w; i < len(ids); i += 16 {
				do(&ids[i])
			}
		})
	}
	doing.Wait()
}

// Tasks are created while Redis is away, and their replica learns their ends and settles them. Another replica, whose clients
// poll while Redis comes back, charges none of them again.
func TestTasksThatEndInAnOutageAreChargedOnce(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{TaskRate: -1}, "SLUICE_REDIS_TIMEOUT=50ms", "SLUICE_TASK_QUERY_RATE=100000")
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
	r.create(1, 1) // the team is known there
	wait(t, "the first is charged", func() bool { return r.ledgerImages() == 1 })
	wait(t, "its replica knows that", func() bool { // else it charges it again, because Redis will have lost it
		_, text, err := ask(r.client, "http://"+r.gates[1].admin, "/readyz?verbose", "")
		return err == nil && strings.Contains(text, "\nredis: ok\n")
	})
	r.server.kill()
	ids := make([]string, 100)
	together(ids, func(id *string) { *id = r.create(0, 1) })
	together(ids, func(id *string) {
		for !final(r.poll(0, *id)) {
			time.Sleep(10 * time.Millisecond)
		}
	})
	r.server.start()
	known := func(id string) bool {
		state, _ := r.server.admin.HGet(t.Context(), "sl1:{search}:task:"+id, "final").Result()
		return state == "1"
	}
	together(ids, func(id *string) {
		for !known(*id) && !t.Failed() {
			r.ask(1, *id)
			time.Sleep(10 * time.Millisecond)
		}
	})
	wait(t, "all are charged", func() bool { return r.ledgerImages() >= 100 })
	if charged := r.ledgerImages(); charged != 100 {
		t.Errorf("%d images are charged since Redis is back, 100 were made", charged)
	}
}

// Redis loses its memory, and clients poll a task that has ended on a replica that last saw it running. They get the
// last known answer, and the task is neither queried nor charged again, until the replica that knows the end has restored
// it.
func TestALostTaskIsChargedOnce(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Second, TaskRate: -1})
	id := r.create(0, 2)
	wait(t, "the other replica sees it run", func() bool { return r.poll(1, id) == "RUNNING" })
	wait(t, "it ends", func() bool { return r.poll(0, id) == "SUCCEEDED" })
	asked := r.service.Count(simulator.EndpointTask)
	r.server.do("FLUSHALL")
	wait(t, "the other replica is told of the end", func() bool { return r.poll(1, id) == "SUCCEEDED" })
	if n := r.service.Count(simulator.EndpointTask); n != asked {
		t.Errorf("%d queries about a task that had ended", n-asked)
	}
	if charged := r.ledgerImages(); charged != 0 {
		t.Errorf("%d images are charged again", charged)
	}
}

// denied polls tasks at a replica and counts those that it denies, and those that it does not know yet.
func (r *taskReplicas) denied(i int, ids []string) (denied, unknown int) {
	var mu sync.Mutex
	together(ids, func(id *string) {
		header := r.ask(i, *id)
		mu.Lock()
		defer mu.Unlock()
		switch header.Get("Sluice-Refusal") {
		case "recall/task":
			denied++
		case "recall/state":
			unknown++
		}
	})
	return denied, unknown
}

// Redis loses its memory, by a command and by a restart, while two replicas create tasks and poll each other's: no task of
// the team is ever denied, and in the end both know each one.
func TestTasksAreNotDeniedAfterALoss(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(server *redisServer){
		"flushed":   func(server *redisServer) { server.do("FLUSHALL") },
		"restarted": func(server *redisServer) { server.kill(); server.start() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := startTaskReplicas(t, 2, simulator.Config{Running: time.Hour, TaskRate: -1}, "SLUICE_TASK_QUERY_RATE=100000")
			r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
			var made [2][]string
			stop := make(chan struct{})
			var making sync.WaitGroup
			for i := range made {
				for range 60 {
					made[i] = append(made[i], r.create(i, 1))
				}
				making.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(5 * time.Millisecond):
							r.create(i, 1)
						}
					}
				})
			}
			lose(r.server)
			for i := range made {
				for begun, unknown := time.Now(), 1; unknown > 0 && !t.Failed(); {
					if time.Since(begun) > patience {
						t.Fatalf("%d tasks stay unknown", unknown)
					}
					var denied int
					if denied, unknown = r.denied(i, made[1-i]); denied > 0 {
						t.Errorf("%d of %d tasks are denied", denied, len(made[1-i]))
					}
				}
			}
			close(stop)
			making.Wait()
		})
	}
}

// The master dies, and a replica without the last tasks takes its place. No client polls them. Each is queried and charged soon
// after Redis is back: before the finisher's second query of a task made then, three intervals later.
func TestTasksWhoseClaimsAFailoverLostAreFinishedSoon(t *testing.T) {
	t.Parallel()
	const interval, tasks = 6 * time.Second, 20
	house := startSentinels(t)
	master := house.servers[0]
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Second, TaskRate: -1},
		"SLUICE_POLL_INTERVAL="+interval.String(), "SLUICE_REDIS_URL="+house.url)
	r.create(0, 1)
	r.create(1, 1)
	house.eventually(t, "the replicas have the first", func() bool {
		at, replicas := master.offsets()
		return len(replicas) == 2 && slices.Min(replicas) >= at && house.servers[1].do("ZCARD", "sl1:{search}:tasks").(int64) == 2
	})
	for _, replica := range house.servers[1:] {
		replica.do("CONFIG", "SET", "masteruser", "nobody", "masterauth", "wrong")
	}
	master.do("CLIENT", "KILL", "TYPE", "replica")
	for i := range tasks {
		r.create(i, 1)
	}
	for i, replica := range house.servers[1:] { // before the failover: the gateways restore what they know as soon as they can
		if n := replica.do("ZCARD", "sl1:{search}:tasks").(int64); n != 2 {
			t.Fatalf("replica %d has %d tasks, when it should have the first two alone", i, n)
		}
	}
	master.kill()
	for _, replica := range house.servers[1:] {
		replica.do("CONFIG", "SET", "masteruser", "", "masterauth", "")
	}
	r.server = house.master(t)
	r.service.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: "never"}})
	begun, runs := time.Now(), r.create(0, 1)
	wait(t, "all are charged", func() bool { return r.usedImages() == tasks+2 })
	took, queries := time.Since(begun), 0
	for _, got := range r.service.Requests() {
		if strings.HasSuffix(got.Path, runs) {
			queries++
		}
	}
	if t.Logf("charged after %v", took); queries > 1 || isLong() && took > 15*time.Second {
		t.Errorf("charged after %v, when a new task was queried %d times", took, queries)
	}
}
