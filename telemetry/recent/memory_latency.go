package recent

import (
	"context"
	"time"

	"sluice/telemetry/latency"
)

// maxMeasuredBytes bounds the histograms in the memory form; the oldest hours are dropped first.
const maxMeasuredBytes = 32 << 20

// measuredHour are the histograms of an hour, packed because most buckets are empty.
type measuredHour struct {
	series map[series]*[stepsAnHour][]byte
	last   map[string]int64 // number of the last post, by process
	size   int              // approximate bytes
}

// measure keeps the parts of a post.
func (m *Memory) measure(p *Post) {
	for _, part := range p.Latencies {
		part.Stored = true
		h := m.measured[part.Begins]
		if h == nil {
			h = &measuredHour{series: map[series]*[stepsAnHour][]byte{}, last: map[string]int64{}}
			m.measured[part.Begins] = h
		}
		if h.last[p.From] >= part.Number {
			continue
		}
		h.last[p.From] = part.Number
		for _, e := range part.Entries {
			h.add(e)
		}
	}
	size, oldest := 0, time.Time{}
	for begins, h := range m.measured {
		if m.now().Sub(begins) > Kept {
			delete(m.measured, begins)
			continue
		}
		if size += h.size; oldest.IsZero() || begins.Before(oldest) {
			oldest = begins
		}
	}
	if size > maxMeasuredBytes && len(m.measured) > 1 {
		delete(m.measured, oldest)
	}
}

// add adds a histogram to that of its step.
func (h *measuredHour) add(e LatencyEntry) {
	if h.series[e.series] == nil {
		h.series[e.series] = new([stepsAnHour][]byte)
		h.size += stepsAnHour*24 + len(e.of) + 64
	}
	step := &h.series[e.series][e.step]
	sum := *e.Histogram
	_ = sum.Unpack(*step) // fails only on the empty bytes of a new step
	packed := sum.Pack(nil)
	h.size += len(packed) - len(*step)
	*step = packed
}

// Latencies returns the histograms of the steps that begin in [from, to), by name, kind and time. Empty ones are left out.
func (m *Memory) Latencies(_ context.Context, by By, from, to time.Time) (list []Latency, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, begins := range hours(from, to) {
		h := m.measured[begins]
		if h == nil {
			continue
		}
		for s, packed := range h.series {
			if s.by != by {
				continue
			}
			var steps [stepsAnHour]latency.Histogram
			for i := range packed {
				_ = steps[i].Unpack(packed[i]) // as in add
			}
			list = s.appendTo(list, begins, steps[:], from, to)
		}
	}
	sortLatencies(list)
	return list, nil
}

// appendTo appends the steps of an hour that begin in [from, to) and are not empty.
func (s series) appendTo(list []Latency, begins time.Time, steps []latency.Histogram, from, to time.Time) []Latency {
	for i := range steps {
		if start := begins.Add(time.Duration(i) * LatencyStep); !start.Before(from) && start.Before(to) && steps[i].Count() > 0 {
			list = append(list, Latency{s.of, s.what, start, steps[i]})
		}
	}
	return list
}
