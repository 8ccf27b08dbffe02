package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// A replica dies between hearing a task's end and charging it. Redis did not know the end yet, so the next replica
// queries the task again and charges the images made, not the hold at the end of its lease.
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
		`"id":"` + made.Header.Get("Sluice-Request-Id") + `"`, `"team":"search","key":"7f3k9q2m4x1c"`, `"task":"` + answer.Output.Task + `","outcome":"succeeded"`,
		`"images":3`, `"settled_by":"`,
	} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the line lacks %s: %s", want, lines[0])
		}
	}
}
