package failover

import (
	"context"
	"slices"
	"strings"
	"time"
)

// heal ends all failures and all open requests, and compares the accounts with the world.
func (w *world) heal() {
	w.say("all is well again")
	for _, r := range w.crew(everywhere) {
		r.wire.set(works, 0)
	}
	w.arrive("")
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 11 * time.Second} {
		w.pass(d)
	}
	first := w.crew(everywhere)[0]
	for _, q := range w.requests {
		switch {
		case q.settled:
		case !slices.Contains(w.former, q.by):
			w.charge(q.by, q, q.amounts, false)
		case q.task: // another replica learns of its end
			w.charge(first, q, q.amounts, false)
		}
	}
	for _, d := range []time.Duration{time.Second, 11 * time.Second} {
		w.pass(d)
	}
	w.heldAddsUp()
	for _, r := range w.crew(everywhere) {
		if r.shared.Degraded() {
			w.fail("healed: %s is still without Redis: %v", r.name, r.shared.State())
		}
	}
	w.stopAll()
	w.nothingIsLeft()
	w.everybodyIsTold()
	for team := range worldTeams {
		w.balance(team)
	}
	w.outsideAddsUp()
	w.rateHolds()
}

// stopAll stops the replicas, and checks for leftovers.
func (w *world) stopAll() {
	for i, r := range w.replicas {
		if err := r.shared.Close(context.Background()); err != nil {
			w.fail("healed: %s stops: %v", r.name, err)
		}
		_ = r.client.Close()
		r.ended = time.Now()
		w.former = append(w.former, r)
		w.replicas[i] = nil
	}
	time.Sleep(2 * time.Hour) // every lease ends
	w.launch(0)
	w.pass(4 * time.Second)
	w.pass(time.Minute)
	if err := w.replicas[0].shared.Close(context.Background()); err != nil {
		w.fail("healed: the last one stops: %v", err)
	}
}

// nothingIsLeft checks that no hold and no open allowance outlives all replicas and leases.
func (w *world) nothingIsLeft() {
	w.heldAddsUp()
	for _, team := range worldAccounts {
		if open := w.openHolds(team); len(open) > 0 {
			w.fail("left: %s has %d open holds for ever: %+v", team, len(open), open)
		}
		fields, _ := w.server.HKeys("sl1:{" + team + "}:aside")
		for _, field := range fields {
			if text := w.server.HGet("sl1:{"+team+"}:aside", field); strings.HasPrefix(text, "open ") {
				w.fail("left: %s has an allowance for ever: %s", team, text)
			}
		}
		if n := w.count(team, "tasks"); n != 0 {
			w.fail("left: %s has %d open tasks for ever", team, n)
		}
	}
}

// everybodyIsTold checks that each settlement at a live replica was confirmed once.
func (w *world) everybodyIsTold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.requests {
		if q.settled && !q.through.lost && q.taken != 1 {
			w.fail("told: the settlement of a request of %s on %d was told %d times to be taken", q.by.name, q.held.Day, q.taken)
		}
	}
}
