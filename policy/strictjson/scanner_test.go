package strictjson

import (
	"strings"
	"testing"
)

// scan puts a scanner before the first byte of src.
func scan(src string) *Scanner { return &Scanner{lexer: lexer{src: []byte(src)}} }

func TestNumbers(t *testing.T) {
	for literal, legal := range map[string]bool{
		"0": true, "-0": true, "1": true, "10": true, "-1": true, "0.5": true, "-0.0": true, "1e1": true, "1E+1": true,
		"1e-1": true, "0e0": true, "12.34e56": true, strings.Repeat("9", 64): true, "-" + strings.Repeat("9", 63): true,
		"": false, "-": false, "+1": false, ".5": false, "1.": false, "1.e1": false, "1e": false, "1e+": false, "e1": false,
		"--1": false, "0x1": false, "01": false, "00": false, "-01": false, "1_0": false, "1,0": false, "Infinity": false,
		"NaN": false, "½": false, strings.Repeat("9", 65): false, "0." + strings.Repeat("0", 63): false,
		"1e" + strings.Repeat("0", 63): false, "-" + strings.Repeat("9", 64): false,
	} {
		s := scan(literal)
		got, err := s.Number()
		if taken := err == nil && s.pos == len(literal); taken != legal {
			t.Errorf("%q: taken %v (%v), want %v", literal, taken, err, legal)
		} else if taken && string(got) != literal {
			t.Errorf("%q came out as %q", literal, got)
		}
	}
}

// TestNumbersAreBoundedEarly stops at the limit, not at the end of ten megabytes of digits.
func TestNumbersAreBoundedEarly(t *testing.T) {
	for _, src := range []string{strings.Repeat("1", 10<<20), "0." + strings.Repeat("1", 10<<20), "1e" + strings.Repeat("1", 10<<20)} {
		s := scan(src)
		if _, err := s.Number(); err == nil || s.pos > maxNumber+1 {
			t.Errorf("%.8s…: %v, stopped at %d", src, err, s.pos)
		}
	}
}
