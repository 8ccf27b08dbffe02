package policy

import (
	"math"
	"strings"
	"testing"

	"sluice/policy/strictjson"
)

// literal is a number as it stands in a body.
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
