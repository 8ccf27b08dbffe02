package main

import (
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// F-G6: a replica dies between hearing a task's end and charging it. Redis was not told of the end before, so that the next
// replica asks again and charges what the task made, and not what it held when its lease ends.
func TestFG6KilledBeforeAnEndIsCharged(t *testing.T) {
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
