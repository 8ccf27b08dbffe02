package strictjson

import (
	"strings"
	"testing"
)

// strict puts a strict reader before the first byte of src.
func strict(src string) *Reader {
	r := new(Reader)
	r.Reset([]byte(src))
	return r
}

func TestNumbers(t *testing.T) {
	for literal, legal := range map[string]bool{
		"0": true, "-0": true, "1": true, "10": true, "-1": true, "0.5": true, "-0.0": true, "1e1": true, "1E+1": true,
		"1e-1": true, "0e0": true, "12.34e56": true, strings.Repeat("9", 64): true, "-" + strings.Repeat("9", 63): true,
		"": false, "-": false, "+1": false, ".5": false, "1.": false, "1.e1": false, "1e": false, "1e+": false, "e1": false,
		"--1": false, "0x1": false, "01": false, "00": false, "-01": false, "1_0": false, "1,0": false, "Infinity": false,
		"NaN": false, "½": false, strings.Repeat("9", 65): false, "0." + strings.Repeat("0", 63): false,
		"1e" + strings.Repeat("0", 63): false, "-" + strings.Repeat("9", 64): false,
	} {
		r := strict(literal)
		got := r.Number()
		if taken := r.End(); taken != legal {
			t.Errorf("%q: taken %v (%v), want %v", literal, taken, r.Err(), legal)
		} else if taken && string(got) != literal {
			t.Errorf("%q came out as %q", literal, got)
		}
	}
}

// TestNumbersAreBoundedEarly: a number is refused at the limit, before what follows is looked at, be it ten megabytes of digits.
func TestNumbersAreBoundedEarly(t *testing.T) {
	for _, src := range []string{strings.Repeat("1", 65) + ".x", "0." + strings.Repeat("1", 63) + "ex", "-" + strings.Repeat("1", 64) + "e+"} {
		r := strict(src)
		if r.Number(); r.fault != FaultLongNumber {
			t.Errorf("%.8s…: %v", src, r.Err())
		}
	}
}
