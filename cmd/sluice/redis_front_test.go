package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

const frontPicture = `{"model":"gen2.5-t2i","prompt":"a lighthouse","n":2}`

// picture asks a replica for pictures by OpenAI's interface, as an attempt of a library that gives up after patience. The status
// is 0 if there is no answer.
func (r *taskReplicas) picture(i int, attempt string, patience time.Duration) (status int, header http.Header, text string) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base(i)+"/v1/images/generations", strings.NewReader(frontPicture))
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Stainless-Retry-Count", attempt)
	answer, err := r.client.Do(request)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return answer.StatusCode, answer.Header, string(body)
}

// paidOnce checks that there was one creation, and that its two pictures are charged once.
func (r *taskReplicas) paidOnce() {
	r.Helper()
	wait(r.T, "it is charged", func() bool { charged, held := r.images(); return charged == 2 && held == 0 })
	if n := r.service.Count(simulator.EndpointImage); n != 1 {
		r.Errorf("%d creations reached the service", n)
	}
}

// A library's retry gets the first attempt's task from another replica, also from one that was started since.
func TestFrontIsPaidOnceOverReplicas(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: 2 * time.Second, TaskRate: -1})
	if status, _, text := r.picture(0, "0", 500*time.Millisecond); status != 0 {
		t.Fatalf("the client did not leave: %d %s", status, text)
	}
	if status, _, text := r.picture(1, "1", 500*time.Millisecond); status != 0 && status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	r.restart(0)
	r.restart(1)
	status, header, text := r.picture(1, "2", patience)
	if status != 200 || strings.Count(text, `"url"`) != 2 {
		t.Fatalf("%d %s", status, text)
	}
	again, other, same := r.picture(0, "2", patience)
	if again != 200 || same != text || other.Get("Sluice-Task") != header.Get("Sluice-Task") {
		t.Errorf("%d %s, want %s", again, same, text)
	}
	r.paidOnce()
}

// A replica that is killed while the service makes the task leaves an unknown outcome: no retry makes another task.
func TestFrontUnknownOutcomeOfAKilledReplica(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: time.Second, TaskRate: -1}, "SLUICE_IMAGE_WAIT=1s")
	r.service.SetFault(simulator.Fault{On: simulator.EndpointImage, Stall: "before"})
	answered := make(chan int, 1)
	go func() { status, _, _ := r.picture(0, "0", patience); answered <- status }()
	if err := r.service.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.restart(0)
	if status := <-answered; status != 0 {
		t.Fatalf("the killed replica answered %d", status)
	}
	r.service.SetFault()
	r.service.Release()
	for i := range 2 {
		status, header, text := r.picture(i, "1", patience)
		if status != http.StatusGatewayTimeout || header.Get("X-Should-Retry") != "false" {
			t.Errorf("%d %v %s", status, header, text)
		}
	}
	if n := r.service.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations reached the service", n)
	}
}

// A replica that is stopped while clients wait refuses them, and another answers them with the task.
func TestFrontStoppedReplicaSendsItsClientsAway(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: 2 * time.Second, TaskRate: -1})
	type answer struct {
		status int
		header http.Header
		text   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, header, text := r.picture(0, "0", patience)
		answered <- answer{status, header, text}
	}()
	wait(t, "the task runs", func() bool { return r.service.Count(simulator.EndpointTask) > 0 })
	_ = r.gates[0].cmd.Process.Signal(syscall.SIGTERM)
	first := <-answered
	if first.status != http.StatusServiceUnavailable || first.header.Get("Sluice-Task") == "" || first.header.Get("X-Should-Retry") != "" {
		t.Fatalf("%+v", first)
	}
	status, header, text := r.picture(1, "1", patience)
	if status != 200 || header.Get("Sluice-Task") != first.header.Get("Sluice-Task") {
		t.Errorf("%d %v %s", status, header, text)
	}
	r.paidOnce()
}

// Without Redis a picture cannot be paid once for certain, so none is made.
func TestFrontMakesNoPictureWithoutRedis(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 1, simulator.Config{TaskRate: -1})
	r.server.kill()
	if status, header, text := r.picture(0, "0", patience); status != http.StatusServiceUnavailable ||
		header.Get("Sluice-Refusal") != "admit/state" {
		t.Errorf("%d %v %s", status, header, text)
	}
	if n := r.service.Count(simulator.EndpointImage); n != 0 {
		t.Errorf("%d creations reached the service", n)
	}
}

// A replica dies between learning a task's end and charging it. Redis did not know the end yet, so the next replica queries the
// task again and charges the images made, not the hold at the end of its lease.
func TestKilledBeforeAnEndIsCharged(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 1, simulator.Config{Running: 3 * time.Second, TaskRate: -1})
	r.service.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: "fail"}})
	id := r.create(0, 3)
	r.service.SetFault()
	wait(t, "its team is known", func() bool { return r.server.do("SISMEMBER", "sl1:teams", "search") == int64(1) })
	r.server.do("RENAME", "sl1:{search}:quota", "sl1:{search}:quota.kept") // so that the settlement fails
	r.server.do("SET", "sl1:{search}:quota", "broken")
	wait(t, "it ends", func() bool { return final(r.poll(0, id)) })
	r.gates[0].kill()
	r.server.do("DEL", "sl1:{search}:quota")
	r.server.do("RENAME", "sl1:{search}:quota.kept", "sl1:{search}:quota")
	if kept := r.server.do("HGET", "sl1:{search}:task:"+id, "final"); kept != "0" {
		t.Errorf("it is not charged, and known to have ended: %v", kept)
	}
	r.gates[0] = startGatewayProcess(t, r.environ)
	wait(t, "it is charged", func() bool { charged, held := r.images(); return charged == 0 && held == 0 })
}

// A task has one line in the log of the replica that settles it. The line names the creation, even if the replica that
// created the task is gone and another has replaced it.
func TestOneLineOfATaskOverReplicasAndRestarts(t *testing.T) {
	t.Parallel()
	r := startTaskReplicas(t, 2, simulator.Config{Running: 500 * time.Millisecond, TaskRate: -1})
	made, text := send(t, r.client, "POST", r.base(0)+imageURL, fmt.Sprintf(imageTask, 3), "X-Service-Async", "enable")
	var answer struct {
		Output struct {
			Task string `json:"task_id"`
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Output.Task == "" {
		t.Fatalf("%s: %v", text, err)
	}
	wait(t, "its claim is kept", func() bool { return r.server.do("EXISTS", "sl1:{search}:task:"+answer.Output.Task) == int64(1) })
	gates := []*gatewayProcess{r.gates[0], r.gates[1]}
	r.restart(0)
	gates = append(gates, r.gates[0])
	for _, replica := range []int{0, 1, 0} {
		wait(t, "it ends", func() bool { return final(r.poll(replica, answer.Output.Task)) })
	}
	for _, g := range r.gates {
		g.terminate(t)
	}
	var lines []string
	for _, g := range gates {
		_ = g.cmd.Wait() // until its whole output is read
		for line := range strings.Lines(string(g.log.bytes())) {
			if strings.Contains(line, `"msg":"task"`) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) != 1 {
		t.Fatalf("%d lines of one task: %q", len(lines), lines)
	}
	for _, want := range []string{
		`"id":"` + made.Header.Get("Sluice-Request-Id") + `"`, `"team":"search","key":"7f3k9q2m4x1c"`,
		`"task":"` + answer.Output.Task + `","outcome":"succeeded"`, `"images":3`, `"settled_by":"`,
	} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the line lacks %s: %s", want, lines[0])
		}
	}
}
