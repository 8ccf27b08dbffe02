package tasks

import (
	"fmt"
	"testing"

	"sluice/cache"
)

// The number of ends that wait for their charges is bounded; an end without room is heard again.
func TestEndsAreBounded(t *testing.T) {
	u := unsettled{most: mostUnsettled}
	for n := range mostUnsettled + 1 {
		if !u.add(&cache.Claim{Team: "search", Task: fmt.Sprint(n)}) {
			t.Fatalf("end %d counts as kept", n)
		}
	}
	_, first := u.of("search", "0")
	_, last := u.of("search", fmt.Sprint(mostUnsettled))
	if len(u.heard) != 10_000 || !first || last {
		t.Errorf("%d ends are kept, the first %t, the last %t", len(u.heard), first, last)
	}
}
