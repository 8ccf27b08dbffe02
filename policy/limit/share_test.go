package limit

import (
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Q09: one to eight replicas without Redis, each with its share, crash and come back at any moment. In any window all
// together admit no more than the bucket and the rate; a crash costs only the rest of its share.
func TestQ09SharesOfReplicas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(1, 8).Draw(rt, "replicas")
		clock := limittest.NewClock()
		r := teams.Rate{Unit: teams.UnitRequests, Per: time.Second, PerText: "1s", Limit: 40, Burst: int64(rapid.IntRange(count, 80).Draw(rt, "burst"))}
		share := Terms{Rates: [RateCount]teams.Rate{shareOf(r, int64(count))}}
		for q := range share.Quotas {
			share.Quotas[q] = None
		}
		share.Tasks = None
		team := &teams.Team{ID: "search"}
		start := func(dry bool) *Memory {
			m := NewMemory(clock.Now)
			m.dry.Store(dry) // a process that starts without Redis starts with an empty bucket
			return m
		}
		members := make([]*Memory, count)
		for i := range members {
			members[i] = start(false)
		}
		type arrival struct{ at time.Time }
		var admittedAt []arrival
		for n := range rapid.IntRange(1, 400).Draw(rt, "arrivals") {
			i := rapid.IntRange(0, count-1).Draw(rt, "replica")
			switch rapid.IntRange(0, 19).Draw(rt, "event") {
			case 0:
				members[i] = start(true)
			case 1, 2, 3:
				clock.Move(time.Duration(rapid.IntRange(1, 300).Draw(rt, "ms")) * time.Millisecond)
			default:
				h := Hold{ID: strconv.Itoa(n), Team: team, Amounts: Amounts{Requests: 1}, Lease: time.Hour}
				if s, err := members[i].Place(&h, &share); err != nil {
					rt.Fatal(err)
				} else if s.Outcome == Admitted {
					admittedAt = append(admittedAt, arrival{clock.Now()})
				}
			}
		}
		for i, from := range admittedAt {
			for j := i; j < len(admittedAt); j++ {
				window := admittedAt[j].at.Sub(from.at)
				if n, bound := float64(j-i+1), float64(r.Burst)+40*window.Seconds()+1e-6; n > bound {
					rt.Fatalf("%v admitted in %v, the bound is %v", n, window, bound)
				}
			}
		}
	})
}
