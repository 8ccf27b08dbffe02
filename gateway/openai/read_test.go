package openai

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// faulty are texts that are nearly JSON documents, and good ones that look like them.
var faulty = []string{
	``, ` `, `{`, `[`, `}`, `]`, `{}`, ` [ ] `, `{]`, `[}`, `{,}`, `[,]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`, `{} {}`, `{}x`, "{}\x00", "\x00",
	`{"a" : [ 1 , { } ] }`, "\t\r\n{\"a\":1}\t\r\n", "\v{}", "\ufeff{}",
	`true`, `false`, `null`, `tru`, `truex`, `True`, `nul`, `[nulll]`,
	`0`, `-0`, `00`, `01`, `-`, `+1`, `1.`, `.1`, `1.0`, `1e`, `1e+`, `1E-05`, `1e5.0`, `-1.50e+10`, `0x1`, `1_0`, `--1`, `NaN`,
	`"`, `"a`, `"a"`, `"\"`, `"\\"`, `"\x"`, `"\`, `"\u"`, `"\u12"`, `"\u12g4"`, `"\u00e4\u00E4"`, `"\ud83d"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\u0061"`, `"\ud83dx"`, `"\ud83d\n"`,
	"\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\x7f\"", "\"\x80\"", "\"\xc3\"", "\"\xc3\xa4\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", `"词语😀"`, "\"12345678\x1f\"", "\"1234567\xff\"", `"1234567\"`, "\"\u2028\"",
	`{"\u0061":1,"a":2}`, `{"\ud83d":1}`, "'a'",
}

func TestReaderTakesJSONAlone(t *testing.T) {
	texts := append([]string{strings.Repeat("[", mostDepth) + strings.Repeat("]", mostDepth), strings.Repeat("[", mostDepth+1) + strings.Repeat("]", mostDepth+1)}, faulty...)
	for _, text := range texts {
		if got, want := isDocument([]byte(text)), jsontext.Value(text).IsValid(strictly...); got != want {
			t.Errorf("%.80q: %t, want %t", text, got, want)
		}
	}
}

// FuzzReader: a reader takes what the library takes.
func FuzzReader(f *testing.F) {
	for _, text := range faulty {
		f.Add([]byte(text))
	}
	seeds(f, func(in []byte) { f.Add(in) }, "answers", "pictures", "chats")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := isDocument(text), jsontext.Value(text).IsValid(strictly...); got != want {
			t.Fatalf("%q: %t, want %t", text, got, want)
		}
	})
}

// TestReadersSeeWhatWalkersSee: what a reader finds in an object or an array, and how it is written.
func TestReadersSeeWhatWalkersSee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(document(4).Draw(t, "document"))
		r := reader{text: text}
		w := walkObject(text)
		for r.open('{'); r.member(); {
			name := string(r.name)
			if value := string(r.value()); !w.member() || name != string(w.name) || value != string(w.value) {
				t.Fatalf("%s: %q is %q, want %q, %q", text, name, value, w.name, w.value)
			}
		}
		if w.member() || !r.end() {
			t.Fatalf("%s: more follows, or a fault was found", text)
		}
		r, w = reader{text: text}, walkArray(text)
		for r.open('['); r.element(); {
			if value := string(r.value()); !w.element() || value != string(w.value) {
				t.Fatalf("%s: %q, want %q", text, value, w.value)
			}
		}
		if w.element() || !r.end() {
			t.Fatalf("%s: more follows, or a fault was found", text)
		}
	})
}
