package chart

import (
	"math"
	"strconv"
)

// Height is that of the view box of columns; each column is Step wide.
const (
	Height = 100
	Step   = 10
	gap    = 2
)

// Column is the values of one span of time, stacked from the bottom in the order of the chart's classes.
type Column struct {
	Title string // for its tooltip
	Parts []float64
}

// Columns is a chart that can be drawn.
type Columns struct {
	Width  int // of the view box
	Height int
	Bars   []Bar
	Top    float64 // the value at the upper edge, a round number; 0: there is nothing to draw
}

// Bar is one column.
type Bar struct {
	X, Width int
	Title    string
	Parts    []Rect
}

// Rect is one part of a column; the lengths are numbers as SVG has them.
type Rect struct{ Class, Y, Height string }

// NewColumns computes a chart. classes name the parts of every column.
func NewColumns(columns []Column, classes ...string) Columns {
	c := Columns{Width: max(len(columns), 1) * Step, Height: Height}
	for _, column := range columns {
		sum := 0.0
		for _, value := range column.Parts {
			sum += max(value, 0)
		}
		c.Top = max(c.Top, sum)
	}
	c.Top = Round(c.Top)
	for i, column := range columns {
		c.Bars = append(c.Bars, Bar{X: i * Step, Width: Step - gap, Title: column.Title, Parts: c.stack(column.Parts, classes)})
	}
	return c
}

// stack lays the parts of one column on each other. What there is can be seen, however small it is.
func (c *Columns) stack(values []float64, classes []string) (rects []Rect) {
	bottom := float64(Height)
	for i, value := range values {
		if value <= 0 || i >= len(classes) {
			continue
		}
		height := max(value/c.Top*Height, 1)
		bottom -= height
		rects = append(rects, Rect{classes[i], number(max(bottom, 0)), number(height)})
	}
	return rects
}

// Round is the next number that is not below x and whose half has few digits, too.
func Round(x float64) float64 {
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

func number(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }
