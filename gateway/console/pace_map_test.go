package console

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestThePaceRemembersABoundedNumberOfPeople: those who have rested are forgotten first.
func TestThePaceRemembersABoundedNumberOfPeople(t *testing.T) {
	p, now := pace{people: map[string]*rate.Limiter{}}, time.Unix(1_800_000_000, 0)
	for i := range mostPaced - 1 {
		p.takes(fmt.Sprint(i), now)
	}
	now = now.Add(time.Minute)
	for range paceBurst {
		p.takes("busy", now)
	}
	p.takes("new", now)
	if len(p.people) != 2 || p.takes("busy", now) {
		t.Errorf("%d people are remembered, want the busy and the new one", len(p.people))
	}
	for i := range 3 * mostPaced {
		p.takes(fmt.Sprint(i), now)
		if len(p.people) > mostPaced {
			t.Fatalf("%d people are remembered", len(p.people))
		}
	}
}
