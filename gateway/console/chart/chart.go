// Package chart computes the charts and bars of the console's pages: where each part lies, what stands at the axis and in the
// legend. The pages' templates write it as SVG.
//
// Lengths are coordinates of a view box that is stretched to the page, so a drawing contains no text.
package chart

import (
	"html/template"
	"math"
	"time"
)

// The geometry of a chart.
const (
	height = 100
	step   = 10 // the width of a column with its gap
	gap    = 2
)

// Column is the values of one span of time, stacked from the bottom in the order of the chart's series.
type Column struct {
	Title string // for its tooltip
	Parts []float64
	At    time.Time // when it begins, if Title begins with that clock time in UTC; zero: it does not
	Ghost float64   // what it is compared with, behind; 0: nothing
	URL   string    // of what it counts; empty: no link
	Runs  bool      // its time is not over
}

// Series are the parts of all columns that stand for the same.
type Series struct{ Class, Name string }

// Figure is a chart with its words.
type Figure struct {
	Width, Height int // of the view box
	Bars          []Bar
	Linked        bool            // a column is a link
	Top           float64         // the value at the upper edge, a round number; 0: nothing to draw
	Label         string          // what it shows, for those who do not see it
	Most, Half    string          // values at the upper edge and at half of it, with the unit
	Below         []template.HTML // names of places, evenly spaced from the left edge to the right one
	Legend        []Series
}

// Bar is one column.
type Bar struct {
	X, Width int
	Parts    []Part
	Behind   []Part // the ghost; nil: none
	Column
}

// Part is one part of a column; the lengths are numbers as SVG has them.
type Part struct{ Class, Y, Height string }

// New computes a chart. name writes what stands below the beginning of a column, whose number it gets; the right edge is that of one
// more. Whole values have whole numbers at the axis.
func New(label string, list []Column, whole bool, name func(column int) template.HTML, series ...Series) Figure {
	f := Figure{Width: max(len(list), 1) * step, Height: height, Label: label, Legend: series}
	for _, one := range list {
		sum := 0.0
		for _, value := range one.Parts {
			sum += max(value, 0)
		}
		f.Top = max(f.Top, sum, one.Ghost)
	}
	f.Top = roundUp(f.Top)
	for i, one := range list {
		f.Linked = f.Linked || one.URL != ""
		f.Bars = append(f.Bars, Bar{i * step, step - gap, f.stack(one.Parts, series), f.stack([]float64{one.Ghost}, []Series{{Class: "ghost"}}), one})
	}
	f.Most, f.Half = axis(f.Top), axis(f.Top/2)
	if whole && math.Mod(f.Top, 2) != 0 {
		f.Half = ""
	}
	const places = 5
	for i := range places {
		if len(list) > 0 {
			f.Below = append(f.Below, name(i*len(list)/(places-1)))
		}
	}
	return f
}

// stack lays the parts of one column on each other. Parts above zero are visible, however small.
func (f *Figure) stack(values []float64, series []Series) (parts []Part) {
	bottom := float64(height)
	for i, value := range values {
		if value <= 0 || i >= len(series) {
			continue
		}
		high := max(value/f.Top*height, 1)
		bottom -= high
		parts = append(parts, Part{series[i].Class, coordinate(max(bottom, 0)), coordinate(high)})
	}
	return parts
}
