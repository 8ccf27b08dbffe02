// Package latency has small histograms of durations. They can be added over minutes and replicas, and still yield percentiles.
//
// The bounds of their buckets are fixed, each a tenth above the previous one, so every percentile is within 5 % of the exact one, from
// 10 µs to an hour and a half. Shorter and longer durations count in the first and last bucket. The package reads no clock.
package latency

import (
	"math"
	"time"
)

const (
	least   = 10 * time.Microsecond
	growth  = 1.1 // from one bound to the next: their geometric mean is within 5 % of both
	buckets = 212
)

var logGrowth = math.Log(growth)

// Histogram counts durations by bucket. Its zero value is empty.
type Histogram struct {
	counts [buckets]uint32
}

// bucketOf returns the bucket of a duration. The first holds durations up to least.
func bucketOf(d time.Duration) int {
	if d <= least {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(d)/float64(least))/logGrowth)), buckets-1)
}

// middle returns the duration that represents a bucket: the geometric mean of its bounds.
func middle(bucket int) time.Duration {
	return time.Duration(float64(least) * math.Pow(growth, float64(bucket)-0.5))
}

// Note counts a duration.
func (h *Histogram) Note(d time.Duration) { h.counts[bucketOf(d)]++ }

// Add adds another histogram.
func (h *Histogram) Add(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
}

// Count returns the number of durations.
func (h *Histogram) Count() (all int64) {
	for _, n := range h.counts {
		all += int64(n)
	}
	return all
}

// Percentile returns the p-th percentile, within 5 %; 0 if the histogram is empty.
func (h *Histogram) Percentile(p float64) time.Duration {
	all := h.Count()
	if all == 0 {
		return 0
	}
	rank, seen := int64(math.Ceil(p/100*float64(all))), int64(0)
	for i, n := range h.counts {
		if seen += int64(n); seen >= max(rank, 1) {
			return middle(i)
		}
	}
	return middle(buckets - 1)
}
