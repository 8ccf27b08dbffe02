package access

import (
	"fmt"
	"testing"
	"time"
)

// TestLimitersRememberABoundedNumberOfNames: names in use are remembered, and a busy one stays busy.
func TestLimitersRememberABoundedNumberOfNames(t *testing.T) {
	var l Limiters
	now := time.Unix(1_800_000_000, 0)
	for range 100 {
		l.Allows("busy", now, 20, 100)
	}
	for i := range 3 * mostRecent {
		l.Allows(fmt.Sprint(i), now, 20, 100)
		if i%1000 == 0 && l.Allows("busy", now, 20, 100) {
			t.Fatalf("after %d others the busy one is forgotten", i)
		}
		if n := len(l.young) + len(l.old); n > mostRecent {
			t.Fatalf("%d names are remembered", n)
		}
	}
}
