package outbox

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

// A hook has so many deliveries under way at a time, of all callers and of all owners' events, until their outcomes are recorded or they
// take too long.
func TestAHookHasSoManyUnderWay(t *testing.T) {
	few := bounds
	few.InFlight = 4
	formsOf(t, few, func(f *form) {
		for n := range 12 {
			f.write("search", fmt.Sprint(n), jobs, ops)
			f.write("shop", fmt.Sprint(n), other, ops)
		}
		takes := func(about string, want int, room int, hooks ...event.Address) []event.Delivery {
			f.Helper()
			list := f.due(room, hooks...)
			if len(list) != want {
				f.Fatalf("%s: %d taken, want %d", about, len(list), want)
			}
			return list
		}
		first := takes("the room of the caller", 3, 3, jobs)
		second := takes("what is left", 1, 9, jobs)
		takes("full", 0, 9, jobs)
		takes("another hook", 4, 9, other)
		takes("one for all owners", 4, 9, ops)
		takes("full for all owners", 0, 9, ops)
		f.tried(first[0], event.Delivered, 0)
		f.tried(first[1], event.Waiting, time.Minute)
		takes("two have ended", 2, 9, jobs)
		takes("full again", 0, 9, jobs, ops, other)
		f.clock.Move(event.Seat)
		takes("the others take too long", 4, 9, jobs)
		f.tried(second[0], event.Delivered, 0) // late
		takes("a late one frees no seat", 0, 9, jobs)
		takes("of all owners", 4, 9, ops)
	})
}

// TestABusyHookServesFirstWhoWaitsLongest: the events of four owners always fill the hook, and a fifth one waits.
func TestABusyHookServesFirstWhoWaitsLongest(t *testing.T) {
	few := bounds
	few.InFlight = 4
	for _, late := range []string{"aa", "zz"} {
		t.Run(late, func(t *testing.T) {
			formsOf(t, few, func(f *form) {
				f.due(9, ops)
				f.write(late, "late", ops)
				for range 5 {
					for _, owner := range []string{"bb", "cc", "dd", "ee"} {
						f.clock.Move(time.Millisecond)
						f.write(owner, "busy", ops)
					}
					for _, d := range f.due(9, ops) {
						if f.tried(d, event.Delivered, 0); d.Event.Team == late {
							return
						}
					}
				}
				f.Errorf("the event of %s was not taken", late)
			})
		})
	}
}

// The hooks of one host share its room: what waits for them does not keep those of others from being taken.
func TestHooksOfAHostShareItsRoom(t *testing.T) {
	few := bounds
	few.InFlight = 4
	formsOf(t, few, func(f *form) {
		const hooks = 400 // more pairs than a call takes
		rooms := event.Rooms{Hooks: map[event.Address]event.Room{other: {Host: "quick.example", Most: 4}},
			Hosts: map[string]int{"slow.example": 6, "quick.example": 6}}
		for n := range hooks {
			a := event.Address{Owner: fmt.Sprint("team", n), Hook: "default"}
			rooms.Hooks[a] = event.Room{Host: "slow.example", Most: 4}
			f.write(a.Owner, "slow", a)
			f.write(a.Owner, "slow", a)
			f.write(a.Owner, "slow", a)
		}
		f.clock.Move(time.Second)
		f.write("shop", "quick", other)
		f.clock.Move(time.Second)
		slow, quick := 0, 0
		for range 3 {
			list, _, err := f.Due(f.Context(), rooms, 100)
			if err != nil {
				f.Fatal(err)
			}
			for _, d := range list {
				if d.To == other {
					quick++
				} else {
					slow++
				}
			}
			rooms.Hosts["slow.example"] = 6 - slow
		}
		if quick != 1 || slow < 4 || slow > 6 {
			f.Errorf("%d taken of the host that is full, %d of another", slow, quick)
		}
	})
}

// A call that takes fewer than it has room for leaves the rest to others.
func TestRoomThatIsNotUsedIsLeft(t *testing.T) {
	few := bounds
	few.InFlight = 4
	formsOf(t, few, func(f *form) {
		f.write("search", "1", jobs)
		f.taken("search/jobs 1", f.due(4, jobs))
		f.write("search", "2", jobs)
		f.write("search", "3", jobs)
		f.taken("search/jobs 2, search/jobs 3", f.due(4, jobs))
	})
}

// When the next try comes, and whether the event still lives then, is decided by the outbox's clock, whatever a caller's says.
func TestTheOutboxsClockDecides(t *testing.T) {
	forms(t, func(f *form) {
		f.write("search", "1", jobs)
		f.clock.Move(30 * time.Minute)
		d := f.due(1, jobs)[0]
		now := time.UnixMilli(f.clock.Now().UnixMilli()).UTC()
		d.Last, d.Next = now.Add(-time.Hour), now.Add(3*time.Hour) // a caller whose clock is wrong
		d = f.tried(d, event.Waiting, 5*time.Minute)
		if d.State != event.Waiting || d.Last.Sub(now).Abs() > time.Millisecond || d.Next.Sub(now.Add(5*time.Minute)).Abs() > time.Millisecond {
			t.Errorf("%+v", d)
		}
		f.clock.Move(5*time.Minute - time.Second)
		f.taken("", f.due(1, jobs))
		f.clock.Move(2 * time.Second)
		d = f.due(1, jobs)[0]
		if d = f.tried(d, event.Waiting, 26*time.Minute); d.State != event.GivenUp || !d.Next.IsZero() {
			t.Errorf("its life ends before the next try: %+v", d)
		}
		list, err := f.Deliveries(f.Context(), "search", event.ID{}, 9)
		if err != nil || len(list) != 1 || list[0].State != event.GivenUp || list[0].Tries != 2 {
			t.Errorf("%+v %v", list, err)
		}
		f.clock.Move(20 * time.Minute)
		f.taken("", f.due(1, jobs))
	})
}

// What is lost of a hook without room, as one that has ended, is counted, once, by a look of some caller, even if nothing is ever written
// for it again.
func TestWhatAHookWithoutRoomLosesIsCounted(t *testing.T) {
	few := event.Bounds{Keep: time.Hour, Most: 5, InFlight: 1000}
	formsOf(t, few, func(f *form) {
		lost := map[event.Address]int{}
		look := func(room int) {
			f.Helper()
			for range 2 {
				f.clock.Move(walkEvery / 2)
				if f.client != nil { // another process looks
					o := New(f.client, few)
					o.Clock, f.Outbox = f.clock.Micros, o
					f.client.Del(f.Context(), walkKey)
				}
				_, n, err := f.Due(f.Context(), roomsOf(room, jobs, ops), 9)
				if err != nil {
					f.Fatal(err)
				}
				for hook := range n {
					lost[hook] += n[hook]
				}
			}
		}
		counted := func(about string, want int) {
			f.Helper()
			if lost[jobs] != want || lost[ops] != want {
				f.Errorf("%s: %v are counted, want %d of each", about, lost, want)
			}
		}
		for range few.Most + 2 {
			f.write("search", "1", jobs, ops)
		}
		look(0)
		counted("two are beyond the bound", 2)
		f.clock.Move(30 * time.Minute)
		f.write("search", "2", jobs, ops)
		look(0)
		counted("the third is", 3)
		f.clock.Move(31 * time.Minute)
		look(0)
		counted("the life of four more has ended", 3+few.Most-1)
		f.clock.Move(30 * time.Minute)
		look(0)
		counted("all", few.Most+3)
		look(4)
		counted("once", few.Most+3)
	})
}

// Deliveries are kept a while longer than their events, so that some caller counts those that are lost.
func TestDeliveriesOutliveTheirEvents(t *testing.T) {
	client := limittest.RealRedis(t)
	o := New(client, bounds)
	if _, err := o.Append(t.Context(), &event.Draft{Type: event.TaskFailed, Team: "search", Data: []byte("{}"),
		To: []event.Target{{Address: jobs}}}); err != nil {
		t.Fatal(err)
	}
	if left := client.PTTL(t.Context(), keyOf("search", "due:jobs")).Val(); left < bounds.Keep+30*time.Minute {
		t.Errorf("they are kept for %v, events for %v", left, bounds.Keep)
	}
}
