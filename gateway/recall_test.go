package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/simulator"
)

// lookups counts how often claims are looked up.
type lookups struct {
	*cache.Claims
	n atomic.Int64
}

func (l *lookups) Get(ctx context.Context, team, task string) (cache.Claim, bool, error) {
	l.n.Add(1)
	return l.Claims.Get(ctx, team, task)
}

// Guessed ids reveal nothing about other teams' tasks, and a guess costs one look-up and no query.
func TestGuessedTaskIDs(t *testing.T) {
	counted := new(lookups)
	h, _ := tasked(t, func(p *plan) {
		counted.Claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims = counted
	})
	foreign := h.create(t, "Authorization", "Bearer "+h.keys["shop"])
	guesses := []string{foreign}
	for n := range 999 {
		guesses = append(guesses, fmt.Sprintf("%s%03d", foreign[:len(foreign)-3], n), fmt.Sprint(n))
	}
	for n, id := range guesses {
		if id != foreign || n == 0 {
			h.poll(id).wants(t, 404, "recall/task", "NotFound")
		}
	}
	for _, id := range guesses[:10] {
		h.cancel(id).wants(t, 404, "recall/task", "NotFound")
	}
	if n := counted.n.Load(); n > int64(len(guesses)+10) {
		t.Errorf("%d guesses cost %d look-ups", len(guesses)+10, n)
	}
	if n := h.sim.Count(simulator.EndpointTask) + h.sim.Count(simulator.EndpointCancel); n != 0 {
		t.Errorf("%d of them reached upstream", n)
	}
}

var private = []string{"X-Service-EncryptionKey", "k"}

// A task whose only polls are encrypted and without pause is still settled soon after its end, and costs upstream one query an
// interval at most.
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
	for _, answer := range []string{`{"output":{"task_id":"%s","task_status":"UNKNOWN"}}`,
		`{"output":{"task_id":"other","task_status":"SUCCEEDED"}}`} {
		h, clock := tasked(t)
		id := h.create(t)
		clock.move(6 * time.Second)
		body := strings.Replace(answer, "%s", id, 1)
		h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Body: &body})
		if got := h.poll(id, private...); got.status != 200 || got.member(t, "output", "task_status") != "PENDING" ||
			!strings.Contains(got.header.Get("Cache-Status"), "stale") {
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

// The operator is told, once a minute, that the service does not know a young task or has an unknown word for its state. Polls and the
// hold stay as they are.
func TestTheOperatorIsToldOfTasksTheServiceDoesNotKnow(t *testing.T) {
	unknown, odd, other := `{"output":{"task_id":"ID","task_status":"UNKNOWN"}}`, `{"output":{"task_id":"ID","task_status":"THINKING"}}`,
		`{"output":{"task_id":"other","task_status":"UNKNOWN"}}`
	for name, tt := range map[string]struct {
		fault   simulator.Fault
		headers []string
		code    string // of the alarm; empty: none
		status  string // that the poll tells
	}{
		"unknown":          {simulator.Fault{Body: &unknown}, nil, "TaskUnknown", "PENDING"},
		"404":              {simulator.Fault{Error: &simulator.FaultError{Status: 404}}, nil, "TaskUnknown", "PENDING"},
		"an encrypted 404": {simulator.Fault{Error: &simulator.FaultError{Status: 404}}, private, "TaskUnknown", "PENDING"},
		"another word":     {simulator.Fault{Body: &odd}, nil, "TaskStatus", "THINKING"},
		"another task":     {simulator.Fault{Body: &other}, nil, "", "PENDING"},
		"a failure":        {simulator.Fault{Error: &simulator.FaultError{Status: 500}}, nil, "", "PENDING"},
	} {
		t.Run(name, func(t *testing.T) {
			h, clock := tasked(t)
			id := h.create(t)
			clock.move(time.Hour)
			if body := tt.fault.Body; body != nil {
				text := strings.Replace(*body, "ID", id, 1)
				tt.fault.Body = &text
			}
			h.sim.SetFault(tt.fault)
			for range 3 {
				clock.move(6 * time.Second)
				if got := h.poll(id, tt.headers...); got.status != 200 || got.member(t, "output", "task_status") != tt.status {
					t.Errorf("%d %s", got.status, got.body)
				}
			}
			logged := strings.Count(h.log.String(), `"msg":"alarm"`)
			if tt.code == "" && logged != 0 || tt.code != "" && (logged != 1 ||
				!strings.Contains(h.log.String(), `"code":"`+tt.code+`","account":"main"`)) {
				t.Errorf("logged %d: %s", logged, h.log.String())
			}
			h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 404}})
			clock.move(23*time.Hour - 2*time.Minute)
			h.poll(id)
			if n := strings.Count(h.log.String(), `"msg":"alarm"`); n != logged {
				t.Errorf("%d alarms of a task that the service may forget", n-logged)
			}
		})
	}
}

// waited signals a poll's check whether another replica still queries, and counts the checks that found no query.
type waited struct {
	*cache.Claims
	looks chan struct{}
	free  *atomic.Int32
}

func (w waited) Take(ctx context.Context, team, task string) (cache.Turn, error) {
	turn, err := w.Claims.Take(ctx, team, task)
	if turn == cache.Busy {
		select {
		case w.looks <- struct{}{}:
		default:
		}
	} else {
		w.free.Add(1)
	}
	return turn, err
}

// Another replica queries a task. A poll waits for its answer, and if that query fails the poll waits no longer: it
// gets the last known answer.
func TestAPollWaitsForAnotherReplica(t *testing.T) {
	parallel(t)
	for _, c := range []struct {
		name, status, cached string
		ends                 func(claims *cache.Claims, claim *cache.Claim)
	}{
		{"it is told", "RUNNING", "sluice;fwd=uri-miss;collapsed", func(claims *cache.Claims, claim *cache.Claim) {
			body := []byte(`{"output":{"task_id":"` + claim.Task + `","task_status":"RUNNING"}}`)
			_, _ = claims.Hear(context.Background(), claim, cache.ReadAnswer(body, time.UTC), body, 0)
		}},
		{"it asked in vain", "PENDING", "sluice;hit;ttl=-1;detail=stale", func(claims *cache.Claims, claim *cache.Claim) {
			claims.Release(context.Background(), claim.Team, claim.Task, time.Minute)
		}},
		{"it had no query left", "PENDING", "sluice;hit;ttl=-1;detail=stale", func(claims *cache.Claims, claim *cache.Claim) {
			claims.Release(context.Background(), claim.Team, claim.Task, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := waited{looks: make(chan struct{}), free: new(atomic.Int32)}
			h, clock := tasked(t, func(p *plan) { w.Claims = cache.NewClaims(p.config.TaskTTL, p.now); p.claims = w })
			id := h.create(t)
			clock.move(6 * time.Second)
			if turn, err := w.Claims.Take(t.Context(), "search", id); turn != cache.Mine || err != nil {
				t.Fatal(turn, err)
			}
			claim, _, _ := w.Get(t.Context(), "search", id)
			go func() {
				<-w.looks // when the poll arrives
				<-w.looks // while it waits
				c.ends(w.Claims, &claim)
			}()
			got := h.poll(id)
			if status, cached := got.member(t, "output", "task_status"), got.header.Get("Cache-Status"); status != c.status || cached != c.cached {
				t.Errorf("%s, %s; want %s, %s", status, cached, c.status, c.cached)
			}
			if n := w.free.Load(); n != 1 {
				t.Errorf("it checked %d times without finding another replica's query, want once", n)
			}
		})
	}
}
