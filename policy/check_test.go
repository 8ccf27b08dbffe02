package policy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// TestRowsAreComplete: every row of the table can be printed, judged and compared with the document.
func TestRowsAreComplete(t *testing.T) {
	for _, r := range rules {
		section, sentence, found := strings.Cut(r.From, ": ")
		switch {
		case r.When.holds == nil || r.When.text == "" || r.Check.find == nil:
			t.Errorf("%s judges nothing", r.ID)
		case r.Check.allowed == "" || r.Field == "":
			t.Errorf("%s does not say what is allowed where", r.ID)
		case r.Mode != ModeRefuse && r.Mode != ModeWarn:
			t.Errorf("%s has the mode %q", r.ID, r.Mode)
		case !found || sentence == "" || !strings.Contains("123ML", section):
			t.Errorf("%s comes from nowhere: %q", r.ID, r.From)
		}
		for _, text := range []string{r.ID, r.Field, r.Check.allowed, r.Check.limit} {
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= utf8.RuneSelf }) {
				t.Errorf("%s: %q is no text for a header", r.ID, text)
			}
		}
	}
}

// TestIdleChecksFindNothing: a check that is idle finds nothing in an empty request.
func TestIdleChecksFindNothing(t *testing.T) {
	q := Request{Kind: KindText, facts: new(facts)}
	for _, r := range rules {
		if !candidateOf(&r).idle(q.facts) {
			continue
		}
		if r.Check.field == fieldUnknown && r.Check.find(&q).count > 0 {
			t.Errorf("%s is idle and finds something", r.ID)
		}
	}
	for _, v := range []value{{shape: strictjson.Null}, {}} {
		for f := range q.facts.values {
			q.facts.values[f] = v
		}
		for _, id := range []string{"text.n", "text.stop", "image.edit.size"} {
			for _, r := range rules {
				if r.ID == id && !candidateOf(&r).idle(q.facts) {
					t.Errorf("%s judges %s", id, v.shape)
				}
			}
		}
	}
}

// places are all places, for the tests that check each of them.
var places = map[string]*strictjson.Names{
	"document": placeTop, "input": placeInput, "message": placeMessage, "item": placeItem, "tool call": placeToolCall,
	"called function": placeCallFunction, "parameters": placeParameters, "tool": placeTool,
	"tool's function": placeToolFunction, "tool choice": placeToolChoice, "chosen function": placeChosenFunction,
	"response format": placeResponseFormat, "json_schema": placeSchema,
}

// find reads an object with one member of that name. It returns the known field, and whether its case is right.
func find(t *testing.T, p *strictjson.Names, name string) (found field, same bool) {
	t.Helper()
	quoted, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	var r strictjson.Reader
	r.Reset([]byte("{" + string(quoted) + ":1}"))
	for r.Document(p); r.Member(); {
		found = r.Field
	}
	var fault *strictjson.Error
	return found, !errors.As(r.Err(), &fault) || fault.Fault != strictjson.FaultCase
}

// TestEveryKnownName finds every known name as it is spelled and refuses it in other spellings, at its place only.
func TestEveryKnownName(t *testing.T) {
	for where, p := range places {
		known := map[string]field{}
		for name, f := range p.All() {
			known[name] = f
		}
		for name, want := range known {
			if f, same := find(t, p, name); f != want && want != fieldIgnored || !same {
				t.Errorf("%s: %s is not found", where, name)
			}
			for _, variant := range variants(name) {
				if _, same := find(t, p, variant); same {
					t.Errorf("%s: %q passes beside %s", where, variant, name)
				}
				if f, same := find(t, nil, variant); f != fieldUnknown || !same {
					t.Errorf("%q is known at a place without names", variant)
				}
			}
			for _, other := range []string{name + "s", "x" + name, name[1:], strings.ToUpper(name) + "X", name + "\x00"} {
				if f, same := find(t, p, other); !same && known[strings.ToLower(other)] == fieldUnknown {
					t.Errorf("%s: %q is refused as %d", where, other, f)
				}
			}
		}
	}
}

// variants are spellings of a name that a case-insensitive parser accepts as that name.
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

// TestKnownNamesAreLowerCase checks an assumption of the scanner, which folds names to lower case.
func TestKnownNamesAreLowerCase(t *testing.T) {
	for where, p := range places {
		for name, f := range p.All() {
			if name != strings.ToLower(name) || f == fieldUnknown {
				t.Errorf("%s: %q", where, name)
			}
		}
	}
}

// TestKeptFieldsComeFromParameters: each kept value is known at some place, so that no rule needs a value that is never
// read.
func TestKeptFieldsComeFromParameters(t *testing.T) {
	known := map[field]bool{}
	for _, p := range places {
		for _, f := range p.All() {
			known[f] = true
		}
	}
	for f := fieldUnknown + 1; f < fieldScalars; f++ {
		if !known[f] {
			t.Errorf("field %d is known at no place", f)
		}
	}
}
