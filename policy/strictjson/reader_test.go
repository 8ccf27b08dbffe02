package strictjson

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// isDocument reports whether a Reader accepts a text.
func isDocument(text []byte) bool {
	r := NewReader(text)
	r.Skip()
	return r.End()
}

func opened(text []byte, kind byte) *Reader {
	r := NewReader(text)
	r.Open(kind)
	return &r
}

// faulty are texts that are nearly JSON documents, and good ones that look like them.
var faulty = []string{
	``, ` `, `{`, `[`, `}`, `]`, `{}`, ` [ ] `, `{]`, `[}`, `{,}`, `[,]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`,
	`{a:1}`, `{1:1}`, `{} {}`, `{}x`, "{}\x00", "\x00", `{"a" : [ 1 , { } ] }`, "\t\r\n{\"a\":1}\t\r\n", "\v{}", "\ufeff{}",
	`true`, `false`, `null`, `tru`, `truex`, `True`, `nul`, `[nulll]`,
	`0`, `-0`, `00`, `01`, `-`, `+1`, `1.`, `.1`, `1.0`, `1e`, `1e+`, `1E-05`, `1e5.0`, `-1.50e+10`, `0x1`, `1_0`, `--1`, `NaN`,
	`"`, `"a`, `"a"`, `"\"`, `"\\"`, `"\x"`, `"\`, `"\u"`, `"\u12"`, `"\u12g4"`, `"\u00e4\u00E4"`, `"\ud83d"`, `"\ud83d\ude00"`,
	`"\ude00\ud83d"`, `"\ud83d\u0061"`, `"\ud83dx"`, `"\ud83d\n"`,
	"\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\x7f\"", "\"\x80\"", "\"\xc3\"", "\"\xc3\xa4\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", `"词语😀"`,
	"\"12345678\x1f\"", "\"1234567\xff\"", `"1234567\"`, "\"\u2028\"", `{"\u0061":1,"a":2}`, `{"\ud83d":1}`, "'a'",
}

func TestReaderTakesJSONAlone(t *testing.T) {
	texts := append([]string{strings.Repeat("[", maxLoose) + strings.Repeat("]", maxLoose),
		strings.Repeat("[", maxLoose+1) + strings.Repeat("]", maxLoose+1)}, faulty...)
	for _, text := range texts {
		if got, want := isDocument([]byte(text)), jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)); got != want {
			t.Errorf("%.80q: %t, want %t", text, got, want)
		}
	}
}

// FuzzReader: a reader accepts what the library accepts.
func FuzzReader(f *testing.F) {
	for _, text := range faulty {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := isDocument(text), jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)); got != want {
			t.Fatalf("%q: %t, want %t", text, got, want)
		}
	})
}

// document draws a JSON value, with white space anywhere.
func document(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 3
		if depth == 0 {
			kinds = 1
		}
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 1:
			return "[" + space.Draw(t, "space") + strings.Join(rapid.SliceOfN(document(depth-1), 0, 3).Draw(t, "elements"), " ,\n") + "]"
		case 2:
			var members []string
			for i := range rapid.IntRange(0, 3).Draw(t, "members") {
				name := string(rune('a'+i)) + rapid.SampledFrom([]string{"", `\"`, `\\`, `\u0065`, "é", "{", "]"}).Draw(t, "name")
				members = append(members, `"`+name+`"`+space.Draw(t, "space")+":"+space.Draw(t, "space")+document(depth-1).Draw(t, "value"))
			}
			return "{" + strings.Join(members, ",") + space.Draw(t, "space") + "}"
		}
		return rapid.SampledFrom([]string{`"a"`, `""`, `"\""`, `"\\"`, `"\\\""`, `"[{,"`, `"词"`, "1.50", "-0", "1e5", "true", "false", "null"}).
			Draw(t, "scalar")
	})
}

// TestReadersFindWhatADecoderFinds: a Reader sees the members and elements that encoding/json sees, as they are written.
func TestReadersFindWhatADecoderFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(document(4).Draw(t, "document"))
		var members map[string]json.RawMessage
		_ = json.Unmarshal(text, &members) // an array or a scalar has none
		seen := 0
		for r := opened(text, '{'); r.Member(); seen++ {
			name := string(r.Name)
			if raw, ok := members[name]; !ok || string(raw) != string(r.Value()) {
				t.Fatalf("%s: the member %q, want %q", text, name, raw)
			}
		}
		if seen != len(members) {
			t.Fatalf("%s: %d members, want %d", text, seen, len(members))
		}
		var elements []json.RawMessage
		_ = json.Unmarshal(text, &elements)
		var got []string
		for r := opened(text, '['); r.Element(); {
			got = append(got, string(r.Value()))
		}
		if !slices.EqualFunc(got, elements, func(a string, b json.RawMessage) bool { return a == string(b) }) {
			t.Fatalf("%s: %q, want %q", text, got, elements)
		}
	})
}
