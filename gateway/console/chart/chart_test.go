package chart

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestColumnsAreStackedAndScaled(t *testing.T) {
	list := []Column{{Title: "a", Parts: []float64{3, 1}}, {Title: "b", Ghost: 2}, {Title: "c", Parts: []float64{0, 0.001}, Runs: true}}
	c := New("", list, true, place, Series{Class: "used"}, Series{Class: "estimated"})
	want := []Series{
		{Class: "ghost", Path: "M10 100h10V50h-10z"},
		{Class: "used", Path: "M0 100h8V25h-8z"},
		{Class: "estimated", Path: "M0 25h8V0h-8zM20 100h8V99h-8z"},
	}
	if diff := cmp.Diff(want, c.Series); diff != "" || c.Top != 4 || c.Width != 30 || len(c.Bars) != 3 || c.Bars[2].X != 20 ||
		!strings.HasPrefix(c.Hatch, "M20 4h8m-8 8h8") {
		t.Errorf("top %v, width %d, %s", c.Top, c.Width, diff)
	}
	if empty := New("", nil, true, place); empty.Top != 0 || empty.Width != 10 {
		t.Errorf("%+v", empty)
	}
}

func place(column int) template.HTML { return template.HTML(strconv.Itoa(column)) }

func TestPlacesBelowGoFromTheLeftEdgeToTheRightOne(t *testing.T) {
	for columns, want := range map[int][]template.HTML{
		60: {"0", "15", "30", "45", "60"}, 30: {"0", "6", "12", "18", "24", "30"}, 9: {"0", "3", "6", "9"}, 31: {"0", "7", "15", "23", "31"},
		3: {"0", "1", "2"},
	} {
		f := New("", make([]Column, columns), true, place)
		if diff := cmp.Diff(want, f.Below); diff != "" || f.Each != (columns == 3) {
			t.Error(columns, diff)
		}
	}
}

func TestAnAxisHasFewDigits(t *testing.T) {
	for got, want := range map[string]string{
		axis(0): "", axis(2500): "2,500", axis(12500): "12.5\u00a0k", axis(0.5): "0.5", axis(roundUp(0.25)): "0.3", axis(roundUp(0.55)): "0.6",
		axis(roundUp(0.0055) / 2): "0.003", axis(roundUp(11e6)): "12\u00a0M", axis(roundUp(1.5e-9)): "0.0000000016",
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
		for _, one := range New("", []Column{{Parts: parts}}, false, place, Series{}, Series{}, Series{}).Series {
			for box := range strings.SplitSeq(strings.TrimSuffix(one.Path, "z"), "z") {
				if _, edges, drawn := strings.Cut(box, "M0 "); drawn {
					bottom, top, _ := strings.Cut(edges, "h8V")
					if top = strings.TrimSuffix(top, "h-8"); value(t, top) < 0 || value(t, bottom) > height || value(t, top) > value(t, bottom) {
						t.Fatal(box)
					}
				}
			}
		}
	})
}
