package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// taskLines are the log lines of settled tasks.
func (h *harness) taskLines() (lines []map[string]any) {
	h.Helper()
	for scanner := bufio.NewScanner(strings.NewReader(h.log.String())); scanner.Scan(); {
		var line map[string]any
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line["msg"] == "task" {
			lines = append(lines, line)
		}
	}
	return lines
}

// settled is the line of the one settled task, without its times and durations.
func (h *harness) settled(t *testing.T) map[string]any {
	t.Helper()
	lines := h.taskLines()
	if len(lines) != 1 {
		t.Fatalf("%d lines of one task: %v", len(lines), lines)
	}
	return lines[0]
}

func wantMembers(t *testing.T, line map[string]any, wants map[string]any) {
	t.Helper()
	for name, want := range wants {
		if got := fmt.Sprint(line[name]); got != fmt.Sprint(want) {
			t.Errorf("%s is %s, want %v", name, got, want)
		}
	}
}

// creation is the Record of the request that created the task.
func (h *harness) creation(t *testing.T) telemetry.Record {
	t.Helper()
	for _, r := range h.records.await(t, 1) {
		if r.Kind != "" {
			return r
		}
	}
	t.Fatal("no record of a creation")
	return telemetry.Record{}
}

// A settled task has one log line, which names its creation, whichever request learns of the end and however the task ended; only
// the poll that learned of it has the task's use and cost.
func TestAPollThatHearsTheEnd(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.teams = priced })
	id := h.create(t)
	clock.move(6 * time.Second)
	h.poll(id) // it runs
	if lines := h.taskLines(); len(lines) != 0 {
		t.Errorf("it runs, and the log has %v", lines)
	}
	clock.move(10 * time.Second)
	h.poll(id) // it has ended
	h.poll(id)
	h.gateway.Finish(t.Context())
	made, records := h.creation(t), h.records.await(t, 4)
	wantMembers(t, h.settled(t), map[string]any{
		"level": "INFO", "id": made.ID, "trace_id": made.TraceID, "team": "search", "key": made.Key, "model": "gen2.6-image", "task": id,
		"outcome": "succeeded", "usage": map[string]any{"image_count": 1, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
		"cost": map[string]any{"requests": 1, "tokens": 0, "images": 1, "spend": 0.2, "flag": "exact"},
		"held": map[string]any{"requests": 1, "tokens": 0, "images": 1, "spend": 0.2}, "queue_ms": 1000, "run_ms": 10000, "polls_served": 2,
		"polls_sent": 2, "settled_by": "poll",
	})
	for n, r := range records {
		images, used := r.Usage.Get(meter.ImageCount)
		if heard := n == 2; heard != used || heard != r.Cost.Known || heard != (r.TaskStatus == "SUCCEEDED") ||
			heard && (images != 1 || r.Cost.Amounts[limit.Images] != 1 || r.Cost.Amounts[limit.Spend] != 200_000_000) {
			t.Errorf("request %d: usage %v, cost %+v, %q", n, used, r.Cost, r.TaskStatus)
		}
		if r.Client != "127.0.0.1" || r.Method == "" || r.Route == "" {
			t.Errorf("request %d is of %q: %s %s", n, r.Client, r.Method, r.Route)
		}
	}
}

func TestOtherEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  simulator.FaultTask
		end    func(h *harness, clock *handClock, id string)
		wants  map[string]any
		status string // in the line of the request that learned of it
	}{
		"finisher": {
			end:   func(h *harness, clock *handClock, _ string) { clock.move(time.Minute); h.gateway.Finish(h.Context()) },
			wants: map[string]any{"outcome": "succeeded", "settled_by": "finisher", "polls_served": 0},
		},
		"failed": {
			fault: simulator.FaultTask{Outcome: "fail"},
			end:   func(h *harness, clock *handClock, id string) { clock.move(time.Minute); h.poll(id) },
			wants: map[string]any{"outcome": "failed", "settled_by": "poll",
				"cost": map[string]any{"requests": 1, "tokens": 0, "images": 0, "spend": 0, "flag": "exact"}},
			status: "FAILED",
		},
		"lease": {
			fault: simulator.FaultTask{Outcome: "never"},
			end: func(h *harness, clock *handClock, _ string) {
				clock.move(24*time.Hour + time.Minute)
				h.gateway.Finish(h.Context())
				h.gateway.Finish(h.Context())
			},
			wants: map[string]any{"outcome": "unheard", "settled_by": "lease", "usage": nil,
				"cost": map[string]any{"requests": 1, "tokens": 0, "images": 1, "spend": 0, "flag": "estimated"}},
		},
		"cancelled": {
			end:    func(h *harness, _ *handClock, id string) { h.ask("POST", tasksPath+"/"+id+"/cancel", "") },
			wants:  map[string]any{"outcome": "cancelled", "settled_by": "poll"},
			status: "CANCELED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, clock := tasked(t)
			if tt.fault.Outcome != "" {
				h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &tt.fault})
			}
			id := h.create(t)
			tt.end(h, clock, id)
			wantMembers(t, h.settled(t), tt.wants)
			wantMembers(t, h.settled(t), map[string]any{"id": h.creation(t).ID, "key": h.creation(t).Key, "task": id})
			last := h.records.await(t, 1)
			if got := last[len(last)-1].TaskStatus; got != tt.status {
				t.Errorf("the line of the request says %q, want %q", got, tt.status)
			}
		})
	}
}

// A stream that has its task's end settles it; there is no second line if the finisher also learns of the end.
func TestAStreamThatEndsItsTask(t *testing.T) {
	h, clock := tasked(t)
	got := h.ask("POST", imagePath, interleavedBody, "X-Service-SSE", "enable", "X-Service-Async", "enable")
	if got.status != 200 || got.err != nil {
		t.Fatalf("%d %v %s", got.status, got.err, got.body)
	}
	clock.move(time.Minute)
	h.gateway.Finish(t.Context())
	made := h.creation(t)
	wantMembers(t, h.settled(t), map[string]any{"id": made.ID, "key": made.Key, "task": made.Task, "outcome": "succeeded",
		"settled_by": "stream"})
	if line := h.settled(t); line["usage"] == nil || line["cost"] == nil || line["held"] == nil {
		t.Errorf("the line has %v", line)
	}
}

// Of two simultaneous polls one makes the query, and only it has the cost.
func TestOnePollOfSeveralTellsTheCost(t *testing.T) {
	h, clock := tasked(t)
	id := h.create(t)
	clock.move(time.Minute)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Stall: "before"})
	done := make(chan reading, 2)
	for range 2 {
		go func() { done <- h.poll(id) }()
	}
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.sim.Release()
	<-done
	<-done
	known := 0
	for _, r := range h.records.await(t, 3) {
		if r.Cost.Known {
			known++
		}
	}
	if h.settled(t); known != 1 {
		t.Errorf("%d of the polls have the cost", known)
	}
}

// An end whose charge is not taken yet gets its line later.
func TestAnEndThatWaitsForItsCharge(t *testing.T) {
	h, clock, balances, _ := lately(t)
	id := h.create(t)
	clock.move(time.Minute)
	balances.fall()
	h.poll(id)
	h.poll(id)
	if lines := h.taskLines(); len(lines) != 0 {
		t.Errorf("nothing is charged, and the log has %v", lines)
	}
	balances.recover()
	wantMembers(t, h.settled(t), map[string]any{"task": id, "settled_by": "poll"})
}
