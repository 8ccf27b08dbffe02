package figures

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/latency"
	"sluice/telemetry/recent"
)

// LatencyQuery selects latencies.
type LatencyQuery struct {
	By       recent.By
	From, To time.Time
	Step     time.Duration // a multiple of [recent.LatencyStep]; 0: the whole span together
}

// LatencyRow are the percentiles of one kind of duration in a step, of a model or an endpoint.
type LatencyRow struct {
	Of            string
	What          recent.What
	Start         time.Time // the step's beginning
	Count         int64
	P50, P95, P99 time.Duration // within 5 % of the exact ones
}

// Latency returns percentiles by name, kind and time, for people who see all teams, because models are shared by teams. Empty steps are
// left out.
func (f *traffic) Latency(ctx context.Context, p access.Person, q LatencyQuery) (rows []LatencyRow, err error) {
	switch {
	case !p.SeesAll():
		return nil, ErrAbsent
	case q.By != recent.ByModel && q.By != recent.ByEndpoint || !q.From.Before(q.To) || q.Step < 0 || q.Step%recent.LatencyStep != 0:
		return nil, ErrQuery
	}
	begins := q.From.Truncate(recent.LatencyStep)
	list, err := f.deps.Recent.Latencies(ctx, q.By, begins, q.To)
	type at struct {
		of    string
		what  recent.What
		start time.Time
	}
	sums := map[at]*latency.Histogram{}
	for i := range list {
		l, key := &list[i], at{list[i].Of, list[i].What, begins}
		if q.Step > 0 {
			key.start = l.Start.Truncate(q.Step)
		}
		if sums[key] == nil {
			sums[key] = new(latency.Histogram)
		}
		sums[key].Add(&l.Histogram)
	}
	for key, h := range sums {
		rows = append(rows, LatencyRow{key.of, key.what, key.start, h.Count(), h.Percentile(50), h.Percentile(95), h.Percentile(99)})
	}
	slices.SortFunc(rows, func(a, b LatencyRow) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), cmp.Compare(slices.Index(recent.Whats, a.What), slices.Index(recent.Whats, b.What)),
			a.Start.Compare(b.Start))
	})
	return rows, err
}
