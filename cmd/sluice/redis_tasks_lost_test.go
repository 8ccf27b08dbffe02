package main

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// ledgerImages is what stands in today's ledger, which nothing but a charge changes.
func (r *taskReplicas) ledgerImages() (n int64) {
	key := "sl1:{search}:use:" + time.Now().UTC().Format("20060102")
	n, _ = r.server.admin.HGet(r.Context(), key, "gen2.6-image|image|images").Int64()
	return n
}

// ask is a poll that may be refused while nobody can tell; it returns the answer's header, nil where there is none.
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

// together does something with each of the tasks, several at a time.
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

// Q06: tasks are made while Redis is away, and their ends are heard and settled where they were made. Another replica,
// whose clients poll while Redis comes back, charges none of them again.
func TestQ06TasksThatEndInAnOutageAreChargedOnce(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{TaskRate: -1}, "SLUICE_REDIS_TIMEOUT=50ms", "SLUICE_TASK_QUERY_RATE=100000")
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
	r.create(1, 1) // the team is known there
	wait(t, "the first is charged", func() bool { return r.ledgerImages() == 1 })
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

// Q11: Redis loses its memory, and clients poll a task that has ended on a replica that last saw it running. It is answered
// from what is known, asked for no more and not charged again, until the replica that knows the end has put that back.
func TestQ11ALostTaskIsChargedOnce(t *testing.T) {
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
