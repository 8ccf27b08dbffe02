package simulator

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// tokensOf returns the tokens of s.
func tokensOf(s string) []string {
	var out []string
	for token := range pieces(s, 1) {
		out = append(out, token)
	}
	return out
}

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "water": {"water"}, "a sluice": {"a", " sluice"}, "waterwheel": {"waterwhe", "el"}, " waterwheel": {" waterwhe", "el"},
		"a  b": {"a", " ", " b"}, "end. ": {"end", ".", " "}, "{\"a\":1}": {"{", "\"", "a", "\"", ":", "1", "}"},
		"水闸。": {"水", "闸", "。"}, " 水": {" ", "水"}, "é": {"é"}, "\xff!": {"\xff", "!"},
	} {
		if diff := cmp.Diff(want, tokensOf(text)); diff != "" || tokens(text) != len(want) {
			t.Errorf("%d tokens of %q (-want +got):\n%s", tokens(text), text, diff)
		}
	}
}

func TestFirstTokens(t *testing.T) {
	const text = "A sluice does not stop the river"
	for n, want := range map[int]string{0: "", -1: "", 1: "A", 3: "A sluice does", 7: text, 100: text} {
		if got, count := firstTokens(text, n); got != want || count != min(max(n, 0), 7) {
			t.Errorf("firstTokens(%d) = %q, %d, want %q", n, got, count, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("A sluice, 水闸 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := strings.Join(tokensOf(s), ""); got != s {
			t.Errorf("tokens of %q join to %q", s, got)
		}
		if head, n := firstTokens(s, tokens(s)); head != s || n != tokens(s) {
			t.Errorf("all tokens of %q are %q, %d", s, head, n)
		}
	})
}

// An answer quotes the question and is in its language. The same hash gives the same text, without repetitions.
func TestSentences(t *testing.T) {
	for question, want := range map[string]string{"What is a sluice?": "“What is a sluice”", "水闸 please": "“水闸 please”", "": "“…”",
		"100%d of %s": "“100%d of %s”"} {
		chinese, before := strings.Contains(question, "水"), ""
		for hash := range uint64(200) {
			text, seen := sentences(question, hash), map[string]bool{}
			if text != sentences(question, hash) || hash == 8 && text == before || !strings.Contains(text, want) ||
				strings.Contains(text, "水") != chinese || strings.Contains(text, "river") && chinese {
				t.Fatalf("%q with hash %d is answered with %q", question, hash, text)
			}
			for _, sentence := range strings.SplitAfter(text, ". ") {
				if seen[sentence] {
					t.Fatalf("hash %d says twice %q", hash, sentence)
				}
				seen[sentence] = true
			}
			before = text
		}
	}
}

func TestQuoted(t *testing.T) {
	for question, want := range map[string]string{
		"a gate": "“a gate”", "what is a gate?! ": "“what is a gate”", "a\n\n  gate": "“a gate”", "": "“…”",
		strings.Repeat("a", 60): "“" + strings.Repeat("a", 60) + "”", strings.Repeat("a", 61): "“" + strings.Repeat("a", 60) + "…”",
		strings.Repeat("闸", 61): "“" + strings.Repeat("闸", 60) + "…”",
	} {
		if got := about(question, "%s"); got != want {
			t.Errorf("%q is quoted as %q, want %q", question, got, want)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 0, ""}, {"abc", 2, "ab"}, {"abc", 3, "abc"}, {"abc", 4, "abc"}, {"水闸", 1, "水"}, {"", 3, ""},
	} {
		if got := firstRunes(tt.text, tt.n); got != tt.want {
			t.Errorf("firstRunes(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("What is a sluice?", uint64(1))
	f.Fuzz(func(t *testing.T, question string, hash uint64) {
		text := sentences(question, hash)
		if utf8.ValidString(question) && !utf8.ValidString(text) {
			t.Errorf("answer to %q is no UTF-8: %q", question, text)
		}
	})
}
