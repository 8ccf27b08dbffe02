package strictjson

import (
	"strings"
	"testing"
	"unicode"
)

// TestA67AnyFolding replaces every letter of every known name by every character of Unicode: the result is refused
// exactly if Unicode's simple folding, which case-blind parsers use, makes it the known name.
func TestA67AnyFolding(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r > 0x3000 && r < 0xFF00 || r > 0x1F000 { // no letter there folds
			continue
		}
		for letter := 'a'; letter <= 'z'; letter++ {
			folds := r != letter && strings.EqualFold(string(r), string(letter))
			if lower, folded := fold(make([]byte, 0, maxKnown), []byte(string(r))); folds != (folded && string(lower) == string(letter)) {
				t.Fatalf("%q for %q: folds %v, found %q %v", r, letter, folds, lower, folded)
			}
		}
	}
}

// TestNoNamesKnowNothing accepts any name in any case at places without known names.
func TestNoNamesKnowNothing(t *testing.T) {
	for _, name := range []string{"model", "Model", "", strings.Repeat("K", 300)} {
		if f, same := (*Names)(nil).find([]byte(name)); f != Unknown || !same {
			t.Errorf("%q is known at a place without names", name)
		}
	}
}
