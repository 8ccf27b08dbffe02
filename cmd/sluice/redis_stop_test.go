package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/unit"
)

// A replica that stops while Redis is away waits for it: what it charged, and which tasks it created, is in Redis afterwards.
func TestAStopWaitsForRedis(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 1, simulator.Config{Pending: time.Hour, TaskRate: -1}, "SLUICE_REDIS_TIMEOUT=100ms")
	r.create(0, 1)
	r.server.signal(syscall.SIGSTOP)
	const texts = 5
	for range texts {
		if status, body, err := ask(r.client, r.base(0), textURL, crashes[0].body); err != nil || status != 200 {
			t.Fatal(status, body, err)
		}
	}
	tasks := []string{r.create(0, 1), r.create(0, 2)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.gates[0].terminate(t)
	}()
	select {
	case <-stopped:
		t.Error("it did not wait")
	case <-time.After(2 * time.Second):
	}
	r.server.signal(syscall.SIGCONT)
	<-stopped
	requests := int64(0)
	for _, row := range usageOf(t, r.server).Rows {
		if row.Unit == unit.NameRequests && strings.HasPrefix(row.Model, "llm") {
			n, _ := row.Used.Int64()
			requests += n
		}
	}
	if requests != texts {
		t.Errorf("%d of %d texts were charged", requests, texts)
	}
	r.gates[0] = startGatewayProcess(t, r.environ)
	for _, id := range tasks {
		if state := r.poll(0, id); state == "" {
			t.Errorf("task %s is not known", id)
		}
	}
}
