package meter

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// scanned is what a scanner finds in a document that comes in pieces of size bytes, a line for each event. Parts of strings are
// put together.
func scanned(document []byte, size int) string {
	var out strings.Builder
	var raw []byte
	var s scanner
	s.restart()
	s.keep = true
	decoded := 0
	for ; len(document) > 0; document = document[min(size, len(document)):] {
		s.feed(bytes.Clone(document[:min(size, len(document))]))
		for event := s.next(); event != scanMore; event = s.next() {
			token, whole, part, longer := s.found, !s.over, s.part, s.decoded
			switch event {
			case scanFault:
				return out.String() + "lost"
			case scanOpened:
				fmt.Fprintln(&out, "open", s.array)
			case scanClosed:
				fmt.Fprintln(&out, "close")
			case scanPart:
				raw, decoded = append(raw, part...), decoded+longer
			case scanEnded:
				fmt.Fprintf(&out, "text %q %t of %q, %d\n", token, whole, append(raw, part...), decoded+longer)
				raw, decoded = nil, 0
			case scanNamed:
				fmt.Fprintf(&out, "name %q %t\n", token, whole)
			case scanWord:
				fmt.Fprintf(&out, "word %q\n", token)
			}
		}
	}
	if s.done() {
		return out.String() + "done"
	}
	return out.String()
}

// decoded is what the library finds in a document that it accepts.
func decoded(document []byte) string {
	var out strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(document), jsontext.AllowDuplicateNames(true))
	for {
		kind := d.PeekKind()
		level, length := d.StackIndex(d.StackDepth())
		token, err := d.ReadToken()
		switch {
		case err != nil: // at its end
			return out.String() + "done"
		case kind == '{' || kind == '[':
			fmt.Fprintln(&out, "open", kind == '[')
		case kind == '}' || kind == ']':
			fmt.Fprintln(&out, "close")
		case kind == '"' && level == '{' && length%2 == 0:
			fmt.Fprintf(&out, "name %q\n", token.String())
		case kind == '"':
			fmt.Fprintf(&out, "text %q\n", token.String())
		default:
			fmt.Fprintf(&out, "word %q\n", token.String())
		}
	}
}

// FuzzScanner: where a document is cut makes no difference, and in a document that the library accepts a scanner finds the same.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		`{"a" : [ 1 , { } ] }`, `{]`, `{,}`, `{"a":1,}`, `{} {}`, `{"a":tru}`, `{"\u00e4":"\ud83d\ude00\n\""}`, `{"a":"\u12`, `"a"`,
		"{\"\xff\":-1.5e3}", `{"a":1 "b":2}`,
	} {
		f.Add([]byte(text), uint8(2))
	}
	f.Fuzz(func(t *testing.T, document []byte, size uint8) { sameAsTheLibrary(t, document, int(size)+1) })
}

// TestScannerFindsWhatTheLibraryFinds is the same for documents of every kind.
func TestScannerFindsWhatTheLibraryFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameAsTheLibrary(t, []byte(`{"a":`+anyJSON(4).Draw(t, "document")+`}`), rapid.IntRange(1, 9).Draw(t, "size"))
	})
}

// anyJSON draws a JSON value, with white space anywhere.
func anyJSON(depth int) *rapid.Generator[string] {
	scalar := rapid.SampledFrom([]string{`"a"`, `""`, `"\""`, `"\\"`, `"\\\""`, `"[{,"`, `"词"`, "1.50", "-0", "1e5", "true", "false", "null"})
	if depth == 0 {
		return scalar
	}
	list := func(begin, end string, names ...string) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 3), func(values []string) string {
			for i := range values {
				values[i] = names[i] + values[i]
			}
			return begin + strings.Join(values, " ,\n") + end
		})
	}
	return rapid.OneOf(scalar, list("[", " ]", "", "", " "), list("{ ", "}", `"a\"":`, "\"é{\"\t: ", `"\u0065\\" :`))
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func sameAsTheLibrary(t fataler, document []byte, size int) {
	t.Helper()
	whole, cut := scanned(document, max(1, len(document))), scanned(document, size)
	if whole != cut {
		t.Fatalf("%q in one piece:\n%s\nin pieces of %d:\n%s", document, whole, size, cut)
	}
	object := bytes.HasPrefix(bytes.TrimLeft(document, " \t\r\n"), []byte("{"))
	if !object || !jsontext.Value(document).IsValid(jsontext.AllowDuplicateNames(true)) || len(document) > maxToken ||
		bytes.Count(document, []byte("["))+bytes.Count(document, []byte("{")) >= maxScanDepth {
		return
	}
	want := decoded(document)
	if strings.ContainsFunc(want, func(r rune) bool { return r == utf8.RuneError || r > 0xffff }) {
		return // halves of a pair are kept apart
	}
	var got strings.Builder
	for line := range strings.Lines(whole) {
		for _, mark := range []string{" true of ", " true\n"} {
			if at := strings.Index(line, mark); at > 0 && !strings.HasPrefix(line, "open") {
				line = line[:at] + "\n"
			}
		}
		got.WriteString(line)
	}
	if got.String() != want {
		t.Fatalf("%q:\n%s\nwant\n%s", document, got.String(), want)
	}
}
