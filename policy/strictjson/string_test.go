package strictjson

import (
	"encoding/json"
	"fmt"
	"pgregory.net/rapid"
	"strings"
	"testing"
	"unicode/utf8"
)

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

// TestStringsAnySpelling reads strings in any spelling: counts and decoded text are those that the standard parser reads.
func TestStringsAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "string")
		src := spelled(t, want)
		var standard string
		if err := json.Unmarshal([]byte(src), &standard); err != nil || standard != want {
			t.Fatalf("the test's spelling %s: %v", src, err)
		}
		s := strict(src + ",")
		str := s.Text()
		if s.Broken() || s.pos != len(src) {
			t.Fatalf("%s: %v, at %d", src, s.Err(), s.pos)
		}
		ascii := 0
		for _, r := range want {
			if r < utf8.RuneSelf {
				ascii++
			}
		}
		if str.Points() != utf8.RuneCountInString(want) || str.ASCII != ascii || str.NUL != strings.Contains(want, "\x00") {
			t.Errorf("%s: %+v", src, str)
		}
		if got := Unescape(nil, str.Raw, 1<<20); string(got) != want {
			t.Errorf("%s: decoded %q", src, got)
		}
	})
}

// FuzzPlain compares the loop over eight bytes with one over single bytes.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 40)+"\"\x00\x1f\x20\x7f\x80\xff\\"), 3)
	f.Fuzz(func(t *testing.T, src []byte, from int) {
		if from < 0 || from > len(src) {
			return
		}
		at := from
		for at < len(src) && src[at] != '"' && src[at] != '\\' && src[at] >= ' ' && src[at] < 0x80 {
			at++
		}
		if got := plain(src, from); got != at {
			t.Errorf("plain %q from %d: %d, want %d", src, from, got, at)
		}
	})
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
	for escaped, want := range map[string]Fault{
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

// TestCursorSkips: Skip moves by characters as Next does, over escapes too.
func TestCursorSkips(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		raw := spelled(r, rapid.StringMatching(`[a-zA-Z0-9+/=]{0,40}`).Draw(r, "text"))
		raw = raw[1 : len(raw)-1]
		n := rapid.IntRange(0, 50).Draw(r, "skip")
		a := NewCursor([]byte(raw), true)
		b := a
		a.Skip(n)
		for range n {
			b.Next()
		}
		if a.pos != b.pos {
			r.Errorf("%q: Skip %d to %d, Next goes to %d", raw, n, a.pos, b.pos)
		}
	})
}
