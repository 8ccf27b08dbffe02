package gateway_test

import (
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/account"
)

// What other gateways got wrong, each by its name. docs/accounts.md has the list, with the tests of those about waiting.

// An account that the service told to wait is not asked again after some seconds, because a second has passed or the gateway has looked.
func TestACoolingAccountIsNotAskedAfterSeconds(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "120"))
	h.asks(1)
	h.sim.SetFault()
	h.served()
	for range 11 {
		clock.move(10 * time.Second)
		h.asks(1)
	}
	if got := h.served(); got != "b:11" {
		t.Errorf("before its time is over: %s", got)
	}
	clock.move(11 * time.Second)
	if h.asks(1); h.served() != "a:1" {
		t.Error("it is not asked when its time is over")
	}
}

// An account whose key was refused comes back by itself once the service accepts the key again, without an operator.
func TestARefusedAccountComesBack(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetKeys("a", "another")
	h.asks(1)
	h.sim.SetKeys("a", keyOf("a"))
	h.served()
	if h.asks(2); h.served() != "b:2" {
		t.Error("it is asked at once")
	}
	clock.move(time.Minute)
	if h.asks(3); h.served() != "a:3" || h.standing("a").State != account.OK {
		t.Errorf("after a minute it is %+v", h.standing("a"))
	}
}

// Of two failures at the same time the longer pause counts, whichever is heard last.
func TestASecondFailureShortensNoPause(t *testing.T) {
	for _, order := range [][]string{{"60", "1"}, {"1", "60"}} {
		h, clock := shared(t, []string{"id: a", `id: b, models: ["other-*"]`})
		var faults []simulator.Fault
		for _, after := range order {
			f := throttled("a", after)
			f.Times, f.Stall = 1, "before"
			faults = append(faults, f)
		}
		h.sim.SetFault(faults...)
		first, second := h.later("POST", textPath, textBody), h.later("POST", textPath, textBody)
		if err := h.sim.AwaitStalled(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		h.sim.Release()
		<-first
		<-second
		h.served()
		for range 5 {
			clock.move(10 * time.Second)
			h.asks(1)
		}
		if got := h.served(); got != "" {
			t.Errorf("waits of %v: %s", order, got)
		}
		clock.move(11 * time.Second)
		if h.asks(1); h.served() != "a:1" {
			t.Errorf("waits of %v: it is not asked when both are over", order)
		}
	}
}

// That a task stays with its account, and a team with the accounts that name it, holds back no new work: it goes on with another of them.
func TestWhatStaysBlocksNoFailover(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000, teams: [search]", "id: b, teams: [search]", "id: c"})
	id := h.create(t)
	h.sim.SetFault(throttled("a", "600"))
	h.served()
	if got := h.asks(3); got != "200 200 200" || h.served() != "a:1 b:3" {
		t.Errorf("new work: %s", got)
	}
	clock.move(6 * time.Second)
	if got := h.poll(id); !strings.Contains(got.body, "RUNNING") || h.served() != "a:1" {
		t.Errorf("the task: %s", got.body)
	}
	h.sim.SetFault(throttled("a", "600"), throttled("b", "600"))
	if got := h.asks(1); got != "429" || h.served() != "b:1" {
		t.Errorf("an account of other teams is asked: %s", got)
	}
}
