package policy

import (
	"strings"
	"testing"
	"unicode"
)

// places are all places, for the tests that hold them to one form.
var places = map[string]*place{
	"document": placeTop, "input": placeInput, "message": placeMessage, "item": placeItem, "tool call": placeToolCall,
	"called function": placeCallFunction, "parameters": placeParameters, "tool": placeTool,
	"tool's function": placeToolFunction, "tool choice": placeToolChoice, "chosen function": placeChosenFunction,
	"response format": placeResponseFormat, "json_schema": placeSchema,
}

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

// TestA64EveryKnownName finds every known name as it is spelled and refuses it in other spellings, at its place only.
func TestA64EveryKnownName(t *testing.T) {
	for where, p := range places {
		for _, list := range p {
			for _, k := range list {
				if f, same := p.find([]byte(k.name)); f != k.field || !same {
					t.Errorf("%s: %s is not found", where, k.name)
				}
				for _, variant := range variants(k.name) {
					if _, same := p.find([]byte(variant)); same {
						t.Errorf("%s: %q passes beside %s", where, variant, k.name)
					}
					if f, same := (*place)(nil).find([]byte(variant)); f != fieldUnknown || !same {
						t.Errorf("%q is known where nothing is", variant)
					}
				}
				for _, other := range []string{k.name + "s", "x" + k.name, k.name[1:], strings.ToUpper(k.name) + "X", k.name + "\x00"} {
					if f, same := p.find([]byte(other)); !same && p.exactly([]byte(strings.ToLower(other))) == fieldUnknown {
						t.Errorf("%s: %q is refused as %d", where, other, f)
					}
				}
			}
		}
	}
}

// variants are spellings of a name that a case-blind parser takes for it.
func variants(name string) []string {
	list := []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:len(name)-1] + strings.ToUpper(name[len(name)-1:])}
	if strings.Contains(name, "s") {
		list = append(list, strings.Replace(name, "s", "ſ", 1), strings.ToUpper(strings.ReplaceAll(name, "s", "ſ")))
	}
	if strings.Contains(name, "k") {
		list = append(list, strings.Replace(name, "k", "\u212a", 1))
	}
	return list
}

// TestKnownNamesAreLowerCase is what find relies on: folding goes to lower case, and no name is longer than a fold.
func TestKnownNamesAreLowerCase(t *testing.T) {
	for where, p := range places {
		for length, list := range p {
			for _, k := range list {
				if len(k.name) != length || k.name != strings.ToLower(k.name) || k.field == fieldUnknown {
					t.Errorf("%s: %q", where, k.name)
				}
			}
		}
	}
}

// TestKeptFieldsComeFromParameters holds the list of kept values to the places: each is known somewhere, so that no
// rule asks for a value that is never read.
func TestKeptFieldsComeFromParameters(t *testing.T) {
	known := map[field]bool{}
	for _, p := range places {
		for _, list := range p {
			for _, k := range list {
				known[k.field] = true
			}
		}
	}
	for f := fieldUnknown + 1; f < fieldScalars; f++ {
		if !known[f] {
			t.Errorf("field %d is known at no place", f)
		}
	}
}
