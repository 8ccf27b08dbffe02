package limit

import (
	"testing"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// TestRateIsKeptBetweenMicroseconds: a process's clock counts nanoseconds. Requests that each come a little early are
// admitted only within the bucket and its refill.
func TestRateIsKeptBetweenMicroseconds(t *testing.T) {
	for _, limit := range []int64{1_000, 10_000, 100_000} {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		begun, admitted := now, int64(0)
		b := newBucket(teams.Rate{Unit: unit.NameRequests, Limit: limit, Per: time.Second, Burst: 1}, false, now)
		for now.Sub(begun) < 10*time.Second {
			if b.wait(1, b.missing(now)) == 0 {
				b.take(1, now)
				admitted++
			}
			now = now.Add(time.Second/time.Duration(limit) - 999*time.Nanosecond)
		}
		if most := 1 + limit*10; admitted > most {
			t.Errorf("at %d a second %d were admitted in 10 s, at most %d may be", limit, admitted, most)
		}
	}
}
