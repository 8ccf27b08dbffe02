package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// scan puts a scanner before the first byte of src.
func scan(src string) *scanner { return &scanner{src: []byte(src)} }

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
		got, err := s.number()
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
		if _, err := s.number(); err == nil || s.pos > maxNumber+1 {
			t.Errorf("%.8s…: %v, stopped at %d", src, err, s.pos)
		}
	}
}

func TestEscapes(t *testing.T) {
	for escaped, want := range map[string]rune{
		`\"`: '"', `\\`: '\\', `\/`: '/', `\b`: '\b', `\f`: '\f', `\n`: '\n', `\r`: '\r', `\t`: '\t', `\u0041`: 'A',
		`\u00e9`: 'é', `\u00E9`: 'é', `\u0000`: 0, `\uffff`: 0xFFFF, `\ud83d\ude00`: '😀', `\uD83D\uDE00`: '😀', `\ufffd`: 0xFFFD,
		`\udbff\udfff`: utf8.MaxRune,
	} {
		r, size, fault := escape([]byte(escaped + "rest"))
		if r != want || size != len(escaped) || fault != "" {
			t.Errorf("%s: %q, %d bytes, %s", escaped, r, size, fault)
		}
	}
	for escaped, want := range map[string]BodyFault{
		`\`: FaultSyntax, `\x41`: FaultSyntax, `\U0041`: FaultSyntax, `\'`: FaultSyntax, `\0`: FaultSyntax, `\u`: FaultSyntax,
		`\u004`: FaultSyntax, `\u00g1`: FaultSyntax, `\u 041`: FaultSyntax, `\u+041`: FaultSyntax, `\ud800`: FaultSurrogate,
		`\ud800\n`: FaultSurrogate, `\ud800\u`: FaultSyntax, `\ud800\u00`: FaultSyntax, `\ud800A`: FaultSurrogate,
		`\udc00`: FaultSurrogate, `\udc00\ud800`: FaultSurrogate, `\ud800\ud800`: FaultSurrogate, `\ud800\u0041`: FaultSurrogate,
	} {
		if r, size, fault := escape([]byte(escaped)); fault != want {
			t.Errorf("%s: %q, %d bytes, %s, want %s", escaped, r, size, fault, want)
		}
	}
}

// spelled writes s as a JSON string, some characters of it as escapes.
func spelled(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch plainly := rapid.Bool().Draw(t, "plain"); {
		case r < ' ' || r == '"' || r == '\\' || !plainly && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case !plainly:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TestStringsAnySpelling reads strings however they are spelled: length, counts and decoded text are those of the
// string itself, and the standard parser reads the same.
func TestStringsAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "string")
		src := spelled(t, want)
		var standard string
		if err := json.Unmarshal([]byte(src), &standard); err != nil || standard != want {
			t.Fatalf("the test's spelling %s: %v", src, err)
		}
		s := scan(src + ",")
		str, err := s.string()
		if err != nil || s.pos != len(src) {
			t.Fatalf("%s: %v, at %d", src, err, s.pos)
		}
		ascii := 0
		for _, r := range want {
			if r < utf8.RuneSelf {
				ascii++
			}
		}
		if str.points() != utf8.RuneCountInString(want) || str.ascii != ascii || str.nul != strings.Contains(want, "\x00") {
			t.Errorf("%s: %+v", src, str)
		}
		if got := unescape(nil, s.src[str.start:str.end], 1<<20); string(got) != want {
			t.Errorf("%s: decoded %q", src, got)
		}
	})
}

// TestNamesAgainstMap adds names to nested objects in any spelling: a name is new exactly if a map says so.
func TestNamesAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n names
		outer := n.open()
		seen := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "names") {
			addName(t, &n, &outer, seen)
			if rapid.IntRange(0, 9).Draw(t, "nest") == 0 {
				inner, within := n.open(), map[string]bool{}
				for range rapid.IntRange(0, 30).Draw(t, "inner names") {
					addName(t, &n, &inner, within)
				}
				n.close(inner)
			}
		}
		if len(n.refs) != len(seen) {
			t.Errorf("%d names are held, %d were new: %v", len(n.refs), len(seen), slices.Sorted(maps.Keys(seen)))
		}
	})
}

// addName adds a short name, of which some come twice, as the reader adds those that had escapes.
func addName(t *rapid.T, n *names, m *members, seen map[string]bool) {
	name := rapid.StringN(0, 2, -1).Draw(t, "name")
	from := len(n.text)
	n.text = append(n.text, name...)
	ref := nameRef{start: uint32(from), end: uint32(len(n.text)), inText: true}
	if isNew := n.add(nil, m, ref); isNew == seen[name] {
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
	var n names
	outer := n.open()
	for i := range 500 {
		r := ref(fmt.Sprint("outer", i))
		if !n.add([]byte(src.String()), &outer, r) {
			t.Fatalf("name %d is not new", i)
		}
	}
	inner := n.open()
	for i := range 500 {
		r := ref(fmt.Sprint("outer", i)) // as outside, and new here
		if !n.add([]byte(src.String()), &inner, r) {
			t.Fatalf("inner name %d is not new", i)
		}
	}
	n.close(inner)
	for i := range 500 {
		if r := ref(fmt.Sprint("outer", i)); n.add([]byte(src.String()), &outer, r) {
			t.Fatalf("name %d is new a second time", i)
		}
	}
}
