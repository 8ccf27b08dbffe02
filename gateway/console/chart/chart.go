// Package chart computes the charts and bars of the console's pages: where each part lies, what stands at the axis and in the
// legend. The pages' templates write it as SVG.
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

// Column is the values of one span of time, stacked from the bottom in the order of the chart's series.
type Column struct {
	Title string // for its tooltip
	Parts []float64
	At    time.Time // when it begins, if Title begins with that clock time in UTC; zero: it does not
	Ghost float64   // what it is compared with, behind; 0: nothing
	URL   string    // of what it counts; empty: no link
	Runs  bool      // its time is not over
}

// Series are the parts of all columns that stand for the same, drawn as one path.
type Series struct {
	Class, Name string
	Path        string // written by [New]
}

// Figure is a chart with its words.
type Figure struct {
	Width, Height int // of the view box
	Bars          []Bar
	Series        []Series        // in the order of drawing
	Hatch         string          // the path over columns whose time is not over; empty: none
	Linked        bool            // a column is a link
	Top           float64         // the value at the upper edge, a round number; 0: nothing to draw
	Label         string          // what it shows, for those who do not see it
	Most, Half    string          // values at the upper edge and at half of it, with the unit
	Below         []template.HTML // names of places, evenly spaced from the left edge to the right one, or of each column
	Each          bool            // Below has a name for each column
	Legend        []Series
}

// Bar is one column and where it begins.
type Bar struct {
	X int
	Column
}

// New computes a chart. name writes what stands below the beginning of a column, whose number it gets; the right edge is that of one
// more unless each column has a name. Whole values have whole numbers at the axis.
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

// fewColumns are so few that each has its name below.
const fewColumns = 8

// spansOf is the number of equal spans that names below divide columns into: one that begins each span at a column, if there is one.
func spansOf(columns int) int {
	for _, spans := range [...]int{4, 5, 6, 3} {
		if columns%spans == 0 {
			return spans
		}
	}
	return 4
}

// box is the path of a rectangle that stands on bottom.
func box(x, width int, bottom, high float64) string {
	return fmt.Sprintf("M%d %sh%dV%sh-%dz", x, coordinate(bottom), width, coordinate(max(bottom-high, 0)), width)
}
