package pages

import (
	"math"
	"strconv"
	"time"
)

// The geometry of charts, in coordinates of a view box that is stretched to the page; so charts contain no text.
const (
	chartHeight = 100
	columnStep  = 10 // the width of a column with its gap
	columnGap   = 2
)

// column is the values of one span of time, stacked from the bottom in the order of the chart's classes.
type column struct {
	Title string // for its tooltip
	Parts []float64
	At    time.Time // when it begins, if Title begins with that clock time in UTC; zero: it does not
	Ghost float64   // what it is compared with, behind; 0: nothing
	URL   string    // of what it counts; empty: no link
	Runs  bool      // its time is not over
}

// columns is a chart that can be drawn.
type columns struct {
	Width  int // of the view box
	Height int
	Bars   []bar
	Linked bool    // a column is a link
	Top    float64 // the value at the upper edge, a round number; 0: nothing to draw
}

// bar is one column.
type bar struct {
	X, Width int
	Parts    []rect
	Behind   []rect // the ghost; nil: none
	column
}

// rect is one part of a column; the lengths are numbers as SVG has them.
type rect struct{ Class, Y, Height string }

// newColumns computes a chart. classes name the parts of every column.
func newColumns(list []column, classes ...string) columns {
	c := columns{Width: max(len(list), 1) * columnStep, Height: chartHeight}
	for _, one := range list {
		sum := 0.0
		for _, value := range one.Parts {
			sum += max(value, 0)
		}
		c.Top = max(c.Top, sum, one.Ghost)
	}
	c.Top = roundUp(c.Top)
	for i, one := range list {
		c.Linked = c.Linked || one.URL != ""
		c.Bars = append(c.Bars, bar{i * columnStep, columnStep - columnGap, c.stack(one.Parts, classes), c.stack([]float64{one.Ghost}, []string{"ghost"}), one})
	}
	return c
}

// stack lays the parts of one column on each other. Parts above zero are visible, however small.
func (c *columns) stack(values []float64, classes []string) (rects []rect) {
	bottom := float64(chartHeight)
	for i, value := range values {
		if value <= 0 || i >= len(classes) {
			continue
		}
		height := max(value/c.Top*chartHeight, 1)
		bottom -= height
		rects = append(rects, rect{classes[i], coordinate(max(bottom, 0)), coordinate(height)})
	}
	return rects
}

// roundUp returns the next number not below x that has few digits, and whose half has few too.
func roundUp(x float64) float64 {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range []float64{1, 1.2, 1.6, 2, 3, 4, 5, 6, 8} {
		if step*power >= x {
			return step * power
		}
	}
	return 10 * power
}

func coordinate(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

// limitBar is the bar of a limit, 100 wide: used, then held, then left.
type limitBar struct {
	Used, Held string // widths
	At         string // where held begins
	State      string // "", "near" (less than a tenth is left) or "full"
}

// newLimitBar computes the bar of a limit. Amounts beyond the limit fill it.
func newLimitBar(used, held, limit int64) limitBar {
	if limit <= 0 {
		return limitBar{Used: "100", Held: "0", At: "100", State: "full"}
	}
	share := func(n int64) float64 { return min(max(100*float64(n)/float64(limit), 0), 100) }
	u := visible(share(used), used)
	h := min(visible(share(held), held), 100-u)
	b := limitBar{Used: coordinate(u), Held: coordinate(h), At: coordinate(u)}
	switch left := limit - used - held; {
	case left <= 0:
		b.State = "full"
	case float64(left) < float64(limit)/10:
		b.State = "near"
	}
	return b
}

// visible returns at least 1 for anything above zero.
func visible(width float64, n int64) float64 {
	if n > 0 {
		return max(width, 1)
	}
	return width
}

// share returns a width of at most 100 for a part of a whole.
func share(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0"
	}
	return coordinate(visible(min(100*float64(part)/float64(whole), 100), part))
}

// segment is a part of a timeline that is 100 wide.
type segment struct {
	Class    string
	X, Width string
	Duration time.Duration
}

// timeline divides the time between the first and the last of some moments. classes name the parts, one less than the moments.
// Moments that are zero or out of order take no room.
func timeline(moments []time.Time, classes ...string) (segments []segment) {
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
		segments = append(segments, segment{
			Class: classes[i], Duration: t.Sub(at),
			X:     coordinate(100 * float64(at.Sub(first)) / float64(whole)),
			Width: coordinate(max(100*float64(t.Sub(at))/float64(whole), 0.5)),
		})
		at = t
	}
	return segments
}
