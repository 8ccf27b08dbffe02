package strictjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// told is what a Stream finds in a document that comes in pieces of so many bytes, a line for each event. Parts of strings are put together.
func told(document []byte, size int) string {
	var out strings.Builder
	var raw []byte
	var s Stream
	s.Restart()
	s.Keep = true
	decoded := 0
	for ; len(document) > 0; document = document[min(size, len(document)):] {
		s.Feed(bytes.Clone(document[:min(size, len(document))]))
		for event := s.Next(); event != More; event = s.Next() {
			token, whole := s.Token()
			part, longer := s.Part()
			switch event {
			case Lost:
				return out.String() + "lost"
			case Opened:
				fmt.Fprintln(&out, "open", s.Array)
			case Closed:
				fmt.Fprintln(&out, "close")
			case Part:
				raw, decoded = append(raw, part...), decoded+longer
			case Ended:
				fmt.Fprintf(&out, "text %q %t of %q, %d\n", token, whole, append(raw, part...), decoded+longer)
				raw, decoded = nil, 0
			case Named:
				fmt.Fprintf(&out, "name %q %t\n", token, whole)
			case Word:
				fmt.Fprintf(&out, "word %q\n", token)
			}
		}
	}
	if s.Done() {
		return out.String() + "done"
	}
	return out.String()
}

// decoded is what the library finds in a document that it takes.
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

// FuzzStream: where a document is cut makes no difference, and of a document that the library takes a Stream finds the same.
func FuzzStream(f *testing.F) {
	for _, text := range faulty {
		f.Add([]byte(text), uint8(2))
	}
	f.Fuzz(func(t *testing.T, document []byte, size uint8) { sameAsTheLibrary(t, document, int(size)+1) })
}

// TestStreamsFindWhatTheLibraryFinds is the same for documents of every kind.
func TestStreamsFindWhatTheLibraryFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameAsTheLibrary(t, []byte(`{"a":`+document(4).Draw(t, "document")+`}`), rapid.IntRange(1, 9).Draw(t, "size"))
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func sameAsTheLibrary(t fataler, document []byte, size int) {
	t.Helper()
	whole, cut := told(document, max(1, len(document))), told(document, size)
	if whole != cut {
		t.Fatalf("%q in one piece:\n%s\nin pieces of %d:\n%s", document, whole, size, cut)
	}
	object := bytes.HasPrefix(bytes.TrimLeft(document, " \t\r\n"), []byte("{"))
	if !object || !isDocument(document) || len(document) > MaxToken || bytes.Count(document, []byte("["))+bytes.Count(document, []byte("{")) >= MaxStreamDepth {
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
