package chart

import (
	"html/template"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestColumnsAreStackedAndScaled(t *testing.T) {
	list := []Column{{Title: "a", Parts: []float64{3, 1}}, {Title: "b"}, {Title: "c", Parts: []float64{0, 0.001}}}
	c := New("", list, true, place, Series{Class: "used"}, Series{Class: "estimated"})
	want := []Bar{
		{X: 0, Width: 8, Column: list[0], Parts: []Part{{Class: "used", Y: "25", Height: "75"}, {Class: "estimated", Y: "0", Height: "25"}}},
		{X: 10, Width: 8, Column: list[1]},
		{X: 20, Width: 8, Column: list[2], Parts: []Part{{Class: "estimated", Y: "99", Height: "1"}}},
	}
	if diff := cmp.Diff(want, c.Bars); diff != "" || c.Top != 4 || c.Width != 30 {
		t.Errorf("top %v, width %d, %s", c.Top, c.Width, diff)
	}
	if empty := New("", nil, true, place); empty.Top != 0 || empty.Width != 10 {
		t.Errorf("%+v", empty)
	}
}

func place(column int) template.HTML { return template.HTML(strconv.Itoa(column)) } //nolint:gosec // a number

func TestPlacesBelowGoFromTheLeftEdgeToTheRightOne(t *testing.T) {
	got := New("", make([]Column, 60), true, place).Below
	if diff := cmp.Diff([]template.HTML{"0", "15", "30", "45", "60"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAxisHasFewDigits(t *testing.T) {
	for got, want := range map[string]string{
		axis(0): "", axis(2500): "2,500", axis(12500): "12.5\u00a0k", axis(0.5): "0.5", axis(roundUp(0.25)): "0.3", axis(roundUp(0.55)): "0.6", axis(roundUp(0.0055) / 2): "0.003", axis(roundUp(11e6)): "12\u00a0M", axis(roundUp(1.5e-9)): "0.0000000016",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	odd := []Column{{Parts: []float64{5}}}
	if whole, parts := New("", odd, true, place, Series{}), New("", odd, false, place, Series{}); whole.Half != "" || parts.Half != "2.5" {
		t.Errorf("half of 5 is %q for whole things, %q for others", whole.Half, parts.Half)
	}
}

func TestRoundIsTheNextRoundNumber(t *testing.T) {
	for x, want := range map[float64]float64{0: 0, -1: 0, 1: 1, 1.1: 1.2, 2.1: 3, 3: 3, 7: 8, 99: 100, 0.035: 0.04, math.Inf(1): 0} {
		if got := roundUp(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

func TestALimitsBar(t *testing.T) {
	for _, tt := range []struct {
		used, held, limit int64
		want              Limit
	}{
		{0, 0, 10, Limit{Used: "0", Held: "0", At: "0"}},
		{5, 3, 10, Limit{Used: "50", Held: "30", At: "50"}},
		{1, 0, 1000, Limit{Used: "1", Held: "0", At: "1"}},
		{9, 1, 10, Limit{Used: "90", Held: "10", At: "90", State: "full"}},
		{91, 0, 100, Limit{Used: "91", Held: "0", At: "91", State: "near"}},
		{20, 5, 10, Limit{Used: "100", Held: "0", At: "100", State: "full"}},
		{0, 0, 0, Limit{Used: "100", Held: "0", At: "100", State: "full"}},
	} {
		if got := NewLimit(tt.used, tt.held, tt.limit); got != tt.want {
			t.Errorf("%d used, %d held of %d: %+v, want %+v", tt.used, tt.held, tt.limit, got, tt.want)
		}
	}
	if Share(1, 3000) != "1" || Share(1, 4) != "25" || Share(3, 0) != "0" {
		t.Error("a share is drawn wrongly")
	}
}

func TestATimelineHasThePartsThatAreKnown(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 22, 12, 0, s, 0, time.UTC) }
	got := Timeline([]time.Time{at(0), at(10), {}, at(40)}, "queue", "run", "rest")
	want := []Segment{{"queue", "0", "25", 10 * time.Second}, {"rest", "25", "75", 30 * time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if Timeline([]time.Time{at(1), {}, {}}, "queue", "run") != nil {
		t.Error("a task of which only the beginning is known has parts")
	}
}

// TestNothingIsDrawnOutside: every part stays in its chart.
func TestNothingIsDrawnOutside(t *testing.T) {
	value := func(t *rapid.T, text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		used, held, limit := rapid.Int64().Draw(t, "used"), rapid.Int64().Draw(t, "held"), rapid.Int64().Draw(t, "limit")
		b := NewLimit(used, held, limit)
		if u, h := value(t, b.Used), value(t, b.Held); u < 0 || h < 0 || u+h > 100.01 {
			t.Fatalf("%+v", b)
		}
		parts := rapid.SliceOf(rapid.Float64Range(-5, 1e12)).Draw(t, "parts")
		for _, bar := range New("", []Column{{Parts: parts}}, false, place, Series{Class: "a"}, Series{Class: "b"}, Series{Class: "c"}).Bars {
			for _, r := range bar.Parts {
				if value(t, r.Y) < 0 || value(t, r.Height) < 0 || value(t, r.Height) > height {
					t.Fatalf("%+v", bar)
				}
			}
		}
	})
}
