package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/telemetry/latency"
	"sluice/telemetry/recent"
)

const (
	slowEvery   = time.Minute            // between two reads of latencies
	slowFor     = 15 * time.Minute       // the span that counts as now
	slowTimes   = 3                      // a model is slow at this multiple of its usual time
	slowFrom    = 100 * time.Millisecond // less is the noise of a busy machine
	slowLeast   = 20                     // requests in a span, or its percentile does not count
	usualBefore = 24 * time.Hour
)

// slow caches the models for which the service takes much longer than usual. Reading a day is expensive, so it is done once a minute.
type slow struct {
	mu   sync.Mutex
	read time.Time
	list []Fault
}

// faults compares each model's last minutes with the day before, without the time in which it was slow.
func (s *slow) faults(ctx context.Context, source Recent, now time.Time) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.read) < slowEvery {
		return s.list
	}
	all, err := source.Latencies(ctx, recent.ByModel, now.Add(-usualBefore), now)
	if err != nil {
		return nil
	}
	s.read, s.list = now, slowModels(all, now)
	return s.list
}

// slowModels returns the models whose 95th percentile is now a multiple of the usual one.
func slowModels(all []recent.Latency, now time.Time) (list []Fault) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Of == all[0].Of && all[n].What == all[0].What {
			n++
		}
		if all[0].What == recent.Service {
			if fault, wrong := slowModel(all[:n], now); wrong {
				list = append(list, fault)
			}
		}
		all = all[n:]
	}
	return atMost(list)
}

// slowModel examines a model's steps. Slow steps do not count as usual, or a long slowness would become usual.
func slowModel(steps []recent.Latency, now time.Time) (fault Fault, wrong bool) {
	var usual latency.Histogram
	var since, begins time.Time
	var is, was time.Duration
	first, enough := 0, false
	for i := range steps {
		var lately latency.Histogram
		begins = steps[i].Start.Add(recent.LatencyStep - slowFor)
		for ; steps[first].Start.Before(begins); first++ {
		}
		for j := first; j <= i; j++ {
			lately.Add(&steps[j].Histogram)
		}
		if enough = lately.Count() >= slowLeast; enough && usual.Count() >= slowLeast {
			is, was = lately.Percentile(95), usual.Percentile(95)
			switch slow := is >= max(slowFrom, slowTimes*was); {
			case !slow:
				since = time.Time{}
			case since.IsZero():
				since = steps[i].Start
			}
		}
		if since.IsZero() {
			usual.Add(&steps[i].Histogram)
		}
	}
	if since.IsZero() || !enough || now.Sub(steps[len(steps)-1].Start) > slowFor {
		return fault, false
	}
	text := fmt.Sprintf("95 of 100 requests take the service up to %s, usually %s", about(is), about(was))
	return Fault{Kind: "latency", Subject: steps[0].Of, Text: text, Since: &since}, true
}

// about rounds a time for people, to 1 ms or more.
func about(d time.Duration) time.Duration {
	if d < slowFrom {
		return max(time.Millisecond, d.Round(time.Millisecond))
	}
	return d.Round(10 * time.Millisecond)
}

// mostOfKind bounds the faults of one kind.
const mostOfKind = 10

// atMost sorts faults by subject, and replaces those beyond mostOfKind by one that counts them.
func atMost(list []Fault) []Fault {
	slices.SortStableFunc(list, func(a, b Fault) int { return strings.Compare(a.Subject, b.Subject) })
	if over := len(list) - mostOfKind; over > 0 {
		list = append(list[:mostOfKind:mostOfKind], Fault{Kind: list[0].Kind, Text: fmt.Sprintf("and %d more", over), Count: int64(over)})
	}
	return list
}
