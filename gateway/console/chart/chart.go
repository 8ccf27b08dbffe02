// Package chart computes the charts and bars of the console's pages: the position of each part, the labels of the axis and the legend.
// The pages' templates write them as SVG.
//
// Lengths are coordinates of a view box that is stretched to the page, so a drawing contains no text.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// The geometry of a chart.
const (
	height = 100
	step   = 10 // the width of a column with its gap
	gap    = 2
)

// Column has the values of one span of time, stacked from the bottom in the order of the chart's series.
type Column struct {
	Title string // of the tooltip
	Parts []float64
	At    time.Time // its beginning, if Title begins with that time in UTC; else zero
	Ghost float64   // a value for comparison, drawn behind; 0: none
	URL   string    // of a page about what it counts; empty: no link
	Runs  bool      // its time is not over
}

// Series are the parts of all columns with the same meaning, drawn as one path.
type Series struct {
	Class, Name string
	Path        string // written by [New]
}

// Figure is a chart with its labels.
type Figure struct {
	Width, Height int // of the view box
	Bars          []Bar
	Series        []Series        // in the order of drawing
	Hatch         string          // a path over columns whose time is not over; empty: none
	Linked        bool            // some column is a link
	Top           float64         // the value at the upper edge, a round number; 0: nothing to draw
	Label         string          // what the chart shows, for screen readers
	Most, Half    string          // values at the upper edge and at half of it, with the unit
	Below         []template.HTML // labels, evenly spaced from the left edge to the right one, or one for each column
	Each          bool            // Below has a label for each column
	Legend        []Series
}

// Bar is one column and its left edge.
type Bar struct {
	X int
	Column
}

// New computes a chart. name returns the label below the left edge of a column, by its index; unless each column has a label, it is also
// called for the right edge. With whole, the axis has only whole numbers.
func New(label string, list []Column, whole bool, name func(column int) template.HTML, series ...Series) Figure {
	f := Figure{Width: max(len(list), 1) * step, Height: height, Label: label}
	for _, one := range list {
		sum := 0.0
		for _, value := range one.Parts {
			sum += max(value, 0)
		}
		f.Top = max(f.Top, sum, one.Ghost)
	}
	f.Top = roundUp(f.Top)
	ghost, paths := "", make([]strings.Builder, len(series))
	for i, one := range list {
		x := i * step
		f.Linked = f.Linked || one.URL != ""
		f.Bars = append(f.Bars, Bar{x, one})
		if one.Ghost > 0 {
			ghost += box(x, step, height, max(one.Ghost/f.Top*height, 1))
		}
		if one.Runs {
			f.Hatch += fmt.Sprintf("M%d 4", x) + strings.Repeat(fmt.Sprintf("h%dm-%d 8", step-gap, step-gap), height/8)
		}
		bottom := float64(height)
		for n := range min(len(one.Parts), len(series)) {
			if value := one.Parts[n]; value > 0 {
				high := max(value/f.Top*height, 1) // visible, however small
				paths[n].WriteString(box(x, step-gap, bottom, high))
				bottom = max(bottom-high, 0)
			}
		}
	}
	if ghost != "" {
		f.Series = append(f.Series, Series{Class: "ghost", Path: ghost})
	}
	for n := range series {
		series[n].Path = paths[n].String()
	}
	f.Series, f.Legend = append(f.Series, series...), series
	if f.Hatch != "" {
		f.Legend = append(f.Legend, Series{Class: "run", Name: "still running"})
	}
	f.Most, f.Half = axis(f.Top), axis(f.Top/2)
	if whole && math.Mod(f.Top, 2) != 0 {
		f.Half = ""
	}
	f.Each = len(list) <= fewColumns
	for i := 0; f.Each && i < len(list); i++ {
		f.Below = append(f.Below, name(i))
	}
	spans := spansOf(len(list))
	for i := 0; !f.Each && i <= spans; i++ {
		f.Below = append(f.Below, name(i*len(list)/spans))
	}
	return f
}

// fewColumns is the largest number of columns that each have a label.
const fewColumns = 8

// spansOf returns the number of equal spans between labels, such that each span begins at a column if possible.
func spansOf(columns int) int {
	for _, spans := range [...]int{4, 5, 6, 3} {
		if columns%spans == 0 {
			return spans
		}
	}
	return 4
}

// box returns the path of a rectangle that stands on bottom.
func box(x, width int, bottom, high float64) string {
	return fmt.Sprintf("M%d %sh%dV%sh-%dz", x, coordinate(bottom), width, coordinate(max(bottom-high, 0)), width)
}
