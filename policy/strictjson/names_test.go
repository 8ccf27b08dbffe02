package strictjson

import (
	"fmt"
	"maps"
	"pgregory.net/rapid"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestAnyFoldingOfAName replaces every letter of every known name by every character of Unicode: the result is refused
// exactly if Unicode's simple folding, which case-blind parsers use, makes it the known name.
func TestAnyFoldingOfAName(t *testing.T) {
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

// TestNamesAgainstMap adds names to nested objects: a name is new if and only if a map says so.
func TestNamesAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n openNames
		outer := n.begin()
		seen := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "names") {
			addName(t, &n, &outer, seen)
			if rapid.IntRange(0, 9).Draw(t, "nest") == 0 {
				inner, within := n.begin(), map[string]bool{}
				for range rapid.IntRange(0, 30).Draw(t, "inner names") {
					addName(t, &n, &inner, within)
				}
				n.end(inner)
			}
		}
		if len(n.refs) != len(seen) {
			t.Errorf("%d names are held, %d were new: %v", len(n.refs), len(seen), slices.Sorted(maps.Keys(seen)))
		}
	})
}

// addName adds a short name as the scanner adds one with escapes. Some names are added twice.
func addName(t *rapid.T, n *openNames, o *objectNames, seen map[string]bool) {
	name := rapid.StringN(0, 2, -1).Draw(t, "name")
	from := len(n.text)
	n.text = append(n.text, name...)
	ref := nameRef{start: uint32(from), end: uint32(len(n.text)), inText: true}
	if isNew := n.add(nil, o, ref); isNew == seen[name] {
		t.Fatalf("%q: new %v", name, isNew)
	}
	seen[name] = true
}

// TestManyNames grows a table often, beside the table of the object around it.
func TestManyNames(t *testing.T) {
	var src strings.Builder
	ref := func(name string) nameRef {
		from := src.Len()
		src.WriteString(name)
		return nameRef{start: uint32(from), end: uint32(src.Len())}
	}
	var n openNames
	outer := n.begin()
	for i := range 500 {
		r := ref(fmt.Sprint("outer", i))
		if !n.add([]byte(src.String()), &outer, r) {
			t.Fatalf("name %d is not new", i)
		}
	}
	inner := n.begin()
	for i := range 500 {
		r := ref(fmt.Sprint("outer", i)) // as outside, and new here
		if !n.add([]byte(src.String()), &inner, r) {
			t.Fatalf("inner name %d is not new", i)
		}
	}
	n.end(inner)
	for i := range 500 {
		if r := ref(fmt.Sprint("outer", i)); n.add([]byte(src.String()), &outer, r) {
			t.Fatalf("name %d is new a second time", i)
		}
	}
}
