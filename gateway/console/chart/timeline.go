package chart

import "time"

// Segment is a part of a timeline that is 100 wide.
type Segment struct {
	Class    string
	X, Width string
	Duration time.Duration
}

// Timeline divides the time between the first and the last of some moments. classes name the parts, one fewer than the moments. Moments
// that are zero or out of order are skipped.
func Timeline(moments []time.Time, classes ...string) (segments []Segment) {
	first, last := moments[0], moments[0]
	for _, t := range moments {
		if t.After(last) {
			last = t
		}
	}
	whole := last.Sub(first)
	if whole <= 0 {
		return nil
	}
	at := first
	for i, t := range moments[1:] {
		if !t.After(at) || i >= len(classes) {
			continue
		}
		segments = append(segments, Segment{
			Class: classes[i], Duration: t.Sub(at),
			X:     coordinate(100 * float64(at.Sub(first)) / float64(whole)),
			Width: coordinate(max(100*float64(t.Sub(at))/float64(whole), 0.5)),
		})
		at = t
	}
	return segments
}
