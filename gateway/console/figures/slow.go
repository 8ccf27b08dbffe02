package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/telemetry/recent"
)

const (
	slowEvery   = time.Minute      // latencies are read
	slowFor     = 15 * time.Minute // what counts as now
	slowTimes   = 3                // its usual is slow
	slowLeast   = 20               // requests
	usualBefore = 24 * time.Hour
)

// slow knows the models whose service takes much longer than usual. Reading a day is not cheap, so it is done once a minute.
type slow struct {
	mu   sync.Mutex
	read time.Time
	list []Fault
}

// faults compares each model's last minutes with the day before.
func (s *slow) faults(ctx context.Context, lately Lately, now time.Time) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.read) < slowEvery {
		return s.list
	}
	all, err := lately.Latencies(ctx, recent.ByModel, now.Add(-usualBefore), now)
	if err != nil {
		return nil
	}
	s.read, s.list = now, slowModels(all, now)
	return s.list
}

// slowModels are the models whose 95th percentile is a multiple of its usual one.
func slowModels(all []recent.Latency, now time.Time) (list []Fault) {
	var usual, current recent.Latency
	begins := now.Add(-slowFor).Truncate(recent.LatencyStep)
	for i := range all {
		l := &all[i]
		if l.What != recent.Service {
			continue
		}
		if l.Start.Before(begins) {
			usual.Add(&l.Histogram)
		} else {
			current.Add(&l.Histogram)
		}
		if i+1 < len(all) && all[i+1].Of == l.Of && all[i+1].What == l.What {
			continue
		}
		is, was := current.Percentile(95), usual.Percentile(95)
		if current.Count() >= slowLeast && usual.Count() >= slowLeast && is >= slowTimes*was {
			text := fmt.Sprintf("95 of 100 requests take the service up to %s, usually %s", is.Round(10*time.Millisecond), was.Round(10*time.Millisecond))
			list = append(list, Fault{Kind: "latency", Subject: l.Of, Text: text, Since: &begins})
		}
		usual, current = recent.Latency{}, recent.Latency{}
	}
	return atMost(list)
}

// mostOfKind is how many faults of one kind are listed.
const mostOfKind = 10

// atMost sorts faults by what they concern, and leaves the first ones.
func atMost(list []Fault) []Fault {
	slices.SortStableFunc(list, func(a, b Fault) int { return strings.Compare(a.Subject, b.Subject) })
	if over := len(list) - mostOfKind; over > 0 {
		list = append(list[:mostOfKind:mostOfKind], Fault{Kind: list[0].Kind, Text: fmt.Sprintf("and %d more", over), Count: int64(over)})
	}
	return list
}
