package policy

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// literal is a number as written in a body.
func literal(s string) value { return value{shape: strictjson.Number, text: s} }

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  int64
		ok    bool
	}{
		{literal("0"), 0, true},
		{literal("-1"), -1, true},
		{literal("9223372036854775807"), math.MaxInt64, true},
		{literal("9223372036854775808"), math.MaxInt64, true}, // as far out of every range
		{literal(strings.Repeat("9", 64)), math.MaxInt64, true},
		{literal("-9223372036854775809"), math.MinInt64, true},
		{literal("-0"), 0, false},
		{literal("1.0"), 0, false},
		{literal("1e0"), 0, false},
		{literal("1E2"), 0, false},
		{value{shape: strictjson.String, text: "1"}, 0, false},
		{value{shape: strictjson.True}, 0, false},
		{value{shape: strictjson.Null}, 0, false},
		{value{}, 0, false},
	} {
		if got, ok := tt.given.integer(); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %d, %v", tt.given, got, ok)
		}
	}
}

func TestFloats(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  float64
		ok    bool
	}{
		{literal("0.5"), 0.5, true},
		{literal("-0"), 0, true},
		{literal("1e-400"), 0, true},
		{literal("2.0000000000000001"), 2, true}, // the value that every reader of doubles gets
		{literal("1e400"), math.Inf(1), false},
		{literal("-1e400"), math.Inf(-1), false},
		{value{shape: strictjson.String, text: "0.5"}, 0, false},
	} {
		if got, ok := tt.given.number(); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %v, %v", tt.given, got, ok)
		}
	}
}

// TestPositive: a count to hold is never less than one and never overflows.
func TestPositive(t *testing.T) {
	for given, want := range map[string]int{
		"1": 1, "4": 4, "0": 7, "-1": 7, "-9223372036854775809": 7, "1.0": 7, "2147483647": maxCount,
		"2147483648": maxCount, "99999999999999999999": maxCount,
	} {
		if got := literal(given).positive(7); got != want {
			t.Errorf("%s: %d, want %d", given, got, want)
		}
	}
	if got := times(maxCount, maxCount); got != maxCount {
		t.Errorf("the product is %d", got)
	}
}

// TestGiven writes values for a message: numbers as they are, strings quoted and cut, the rest by type.
func TestGiven(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  string
	}{
		{literal("1e0"), "1e0"},
		{value{shape: strictjson.String, text: "a\n\x1b\"é"}, `"a\n\x1b\"\u00e9"`},
		{value{shape: strictjson.String, text: strings.Repeat("x", 64)}, `"` + strings.Repeat("x", 64) + `"`},
		{value{shape: strictjson.String, text: strings.Repeat("x", 65)}, `"` + strings.Repeat("x", 64) + `"...`},
		{value{shape: strictjson.String, text: "x" + strings.Repeat("猫", 30)}, `"x` + strings.Repeat(`\u732b`, 21) + `"...`},
		{value{shape: strictjson.Array}, "an array"},
		{value{shape: strictjson.Object}, "an object"},
		{value{shape: strictjson.True}, "true"},
		{value{shape: strictjson.False}, "false"},
		{value{shape: strictjson.Null}, "null"},
		{value{}, "nothing"},
	} {
		if got := tt.given.given(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.given, got, tt.want)
		}
	}
}

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
			return // both sides are out of range, so their ratio does not matter
		}
		four := big.NewInt(maxAspect)
		aspect := width.Cmp(new(big.Int).Mul(four, height)) <= 0 && height.Cmp(new(big.Int).Mul(four, width)) <= 0
		if width.BitLen() <= 30 && height.BitLen() <= 30 && got.inAspect() != aspect {
			t.Errorf("%q: in aspect %v, want %v", s, got.inAspect(), aspect)
		}
	})
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"a": true, "a.example": true, "A-1.example": true, "under_score.example": true, "a:80": true, "192.0.2.1": true,
		"[::1]": true, "[::1]:8080": true, "[::ffff:192.0.2.1]": true, "a:": true, "a.": true,
		"": false, ":80": false, "a:b": false, "a:123456": false, "a b": false, "a@b": false, "a\\b": false, "é": false,
		"[": false, "[]": false, "[::1": false, "[::1]x": false, "[::g]": false, "[::1]:x": false, "a%41": false, "a,b": false,
	} {
		if got := isHost([]byte(host)); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestToolNames(t *testing.T) {
	for c := range rune(0x100) {
		legal := c < utf8.RuneSelf && strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c)
		if isToolName(string(c)) != legal {
			t.Errorf("%q: %v", c, !legal)
		}
	}
}
