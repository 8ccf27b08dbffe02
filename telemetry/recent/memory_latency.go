package recent

import (
	"context"
	"time"

	"sluice/telemetry/latency"
)

// measuredHour is an hour of what was measured.
type measuredHour struct {
	series map[series]*[stepsAnHour]latency.Histogram
	last   map[string]int64 // number of the last post, by process
}

// measure keeps the parts of a post.
func (m *Memory) measure(p *Post) {
	for _, part := range p.Latencies {
		part.Stored = true
		h := m.measured[part.Begins]
		if h == nil {
			h = &measuredHour{map[series]*[stepsAnHour]latency.Histogram{}, map[string]int64{}}
			m.measured[part.Begins] = h
		}
		if h.last[p.From] >= part.Number {
			continue
		}
		h.last[p.From] = part.Number
		for _, e := range part.Entries {
			if h.series[e.series] == nil {
				h.series[e.series] = new([stepsAnHour]latency.Histogram)
			}
			h.series[e.series][e.step].Add(e.Histogram)
		}
	}
	for begins := range m.measured {
		if m.now().Sub(begins) > Kept {
			delete(m.measured, begins)
		}
	}
}

// Latencies returns what was measured in the steps that begin from one time on and before another, by name, duration and time. A step
// without one is left out.
func (m *Memory) Latencies(_ context.Context, by By, from, to time.Time) (list []Latency, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, begins := range hours(from, to) {
		h := m.measured[begins]
		if h == nil {
			continue
		}
		for s, steps := range h.series {
			if s.by == by {
				list = s.appendTo(list, begins, steps[:], from, to)
			}
		}
	}
	sortLatencies(list)
	return list, nil
}

// appendTo appends the steps of an hour that are of a span and not empty.
func (s series) appendTo(list []Latency, begins time.Time, steps []latency.Histogram, from, to time.Time) []Latency {
	for i := range steps {
		if start := begins.Add(time.Duration(i) * LatencyStep); !start.Before(from) && start.Before(to) && steps[i].Count() > 0 {
			list = append(list, Latency{s.of, s.what, start, steps[i]})
		}
	}
	return list
}
