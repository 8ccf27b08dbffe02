package policy

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		given         string
		width, height int64
		ok            bool
	}{
		{"1K", 0, 0, true}, {"2K", 0, 0, true}, {"1280*1280", 1280, 1280, true}, {"1*1", 1, 1, true},
		{"4294967297*1", maxSide, 1, true}, {strings.Repeat("9", 200) + "*7", maxSide, 7, true},
		{"3K", 0, 0, false}, {"", 0, 0, false}, {"*", 0, 0, false}, {"1*", 0, 0, false}, {"*1", 0, 0, false},
		{"0*1", 0, 0, false}, {"1*0", 0, 0, false}, {"00*1", 0, 0, false}, {"1*1*1", 0, 0, false}, {"1**1", 0, 0, false},
	} {
		got, ok := parseSize(tt.given)
		if ok != tt.ok || ok && got != (size{tt.width, tt.height}) {
			t.Errorf("%q: %v, %v", tt.given, got, ok)
		}
	}
}

var canonicalSize = regexp.MustCompile(`^([1-9][0-9]*)\*([1-9][0-9]*)$`)

// FuzzSize compares the parser with a regular expression and its arithmetic with big integers.
func FuzzSize(f *testing.F) {
	for _, s := range []string{"1280*1280", "1K", "2k", "768*768", "01*1", "4294967297*1", "１*1", "1e3*1e3", "99999999999999999999*4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseSize(s)
		match := canonicalSize.FindStringSubmatch(s)
		if class := s == "1K" || s == "2K"; ok != (match != nil || class) {
			t.Fatalf("%q: taken %v", s, ok)
		} else if !ok || class {
			return
		}
		width, _ := new(big.Int).SetString(match[1], 10)
		height, _ := new(big.Int).SetString(match[2], 10)
		area := new(big.Int).Mul(width, height)
		for _, bound := range []int64{minArea, maxArea, maxAreaInterleave} {
			if (got.area() >= bound) != (area.Cmp(big.NewInt(bound)) >= 0) {
				t.Errorf("%q: area %d, truly %v", s, got.area(), area)
			}
		}
		if width.BitLen() > 30 && height.BitLen() > 30 {
			return // both sides are out of range, so their ratio says nothing
		}
		four := big.NewInt(maxAspect)
		aspect := width.Cmp(new(big.Int).Mul(four, height)) <= 0 && height.Cmp(new(big.Int).Mul(four, width)) <= 0
		if width.BitLen() <= 30 && height.BitLen() <= 30 && got.inAspect() != aspect {
			t.Errorf("%q: in aspect %v, want %v", s, got.inAspect(), aspect)
		}
	})
}
