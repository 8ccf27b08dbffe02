package gateway_test

import (
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

var private = []string{"X-Service-EncryptionKey", "k"}

// A task whose only polls are encrypted and without pause is settled soon after its end all the same, and costs upstream
// one query an interval at most.
func TestPrivatePollsLeaveRoomForTheEnd(t *testing.T) {
	h, clock := tasked(t, limited("quotas: {images: {day: 100}}"))
	id := h.create(t)
	const seconds = 60
	for range seconds {
		clock.move(time.Second)
		h.poll(id, private...)
		h.gateway.Finish(t.Context())
	}
	if got := h.settlements(); got != "succeeded 1" {
		t.Errorf("49 s after the task's end %q is settled", got)
	}
	h.stands(t, "images", "1", "0", 0)
	looked := h.sim.Count(simulator.EndpointTask)
	if most := seconds/5 + 1; looked > most || looked < most/2 {
		t.Errorf("upstream was queried %d times in a minute, at most %d are allowed", looked, most)
	}
	alone := 0
	for range 100 { // it has ended, and the client still gets its encrypted answer
		clock.move(time.Second)
		if h.poll(id, private...).header.Get("Cache-Status") == "sluice;fwd=request" {
			alone++
		}
	}
	if alone != 20 {
		t.Errorf("%d private queries in 100 s, want 20", alone)
	}
}

// An encrypted poll does not learn that the service does not know the team's young task, or of another team's task.
func TestPrivatePollsAreNotToldUnknown(t *testing.T) {
	for _, answer := range []string{`{"output":{"task_id":"%s","task_status":"UNKNOWN"}}`, `{"output":{"task_id":"other","task_status":"SUCCEEDED"}}`} {
		h, clock := tasked(t)
		id := h.create(t)
		clock.move(6 * time.Second)
		body := strings.Replace(answer, "%s", id, 1)
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Body: &body})
		if got := h.poll(id, private...); got.status != 200 || got.member(t, "output", "task_status") != "PENDING" || !strings.Contains(got.header.Get("Cache-Status"), "stale") {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
		if h.sim.Count(simulator.EndpointTask) != 1 {
			t.Error("upstream was not queried")
		}
		secret := `{"output":"c2VjcmV0","request_id":"r"}`
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Body: &secret})
		clock.move(6 * time.Second)
		if got := h.poll(id, private...); got.body != secret || got.header.Get("Cache-Status") != "sluice;fwd=request" {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	}
}
