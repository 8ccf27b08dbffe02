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
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"water", []string{"water"}},
		{"a sluice", []string{"a", " sluice"}},
		{"waterwheel", []string{"waterwhe", "el"}},
		{" waterwheel", []string{" waterwhe", "el"}},
		{"a  b", []string{"a", " ", " b"}},
		{"end. ", []string{"end", ".", " "}},
		{"{\"a\":1}", []string{"{", "\"", "a", "\"", ":", "1", "}"}},
		{"水闸。", []string{"水", "闸", "。"}},
		{" 水", []string{" ", "水"}},
		{"é", []string{"é"}},
		{"\xff!", []string{"\xff", "!"}},
	} {
		if diff := cmp.Diff(tt.want, tokensOf(tt.text)); diff != "" {
			t.Errorf("tokens of %q (-want +got):\n%s", tt.text, diff)
		}
		if got := tokens(tt.text); got != len(tt.want) {
			t.Errorf("tokens(%q) = %d, want %d", tt.text, got, len(tt.want))
		}
	}
}

func TestFirstTokens(t *testing.T) {
	const text = "A sluice does not stop the river"
	for _, tt := range []struct {
		n     int
		want  string
		count int
	}{
		{0, "", 0},
		{-1, "", 0},
		{1, "A", 1},
		{3, "A sluice does", 3},
		{7, text, 7},
		{100, text, 7},
	} {
		got, count := firstTokens(text, tt.n)
		if got != tt.want || count != tt.count {
			t.Errorf("firstTokens(%d) = %q, %d, want %q, %d", tt.n, got, count, tt.want, tt.count)
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

// An answer quotes the question, in whose language it is. The same hash gives the same text, and says nothing twice.
func TestSentences(t *testing.T) {
	for question, want := range map[string]string{"What is a sluice?": "“What is a sluice”", "水闸 please": "“水闸 please”", "": "“…”", "100%d of %s": "“100%d of %s”"} {
		chinese, before := strings.Contains(question, "水"), ""
		for hash := range uint64(200) {
			text, seen := sentences(question, hash), map[string]bool{}
			if text != sentences(question, hash) || hash == 8 && text == before || !strings.Contains(text, want) || strings.Contains(text, "水") != chinese || strings.Contains(text, "river") && chinese {
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
	for _, tt := range []struct {
		name, question, want string
	}{
		{"plain", "a gate", "“a gate”"},
		{"ends are trimmed", "what is a gate?! ", "“what is a gate”"},
		{"space is folded", "a\n\n  gate", "“a gate”"},
		{"nothing", "", "“…”"},
		{"just fits", strings.Repeat("a", 60), "“" + strings.Repeat("a", 60) + "”"},
		{"too long", strings.Repeat("a", 61), "“" + strings.Repeat("a", 60) + "…”"},
		{"too long in Chinese", strings.Repeat("闸", 61), "“" + strings.Repeat("闸", 60) + "…”"},
	} {
		if got := about(tt.question, "%s"); got != tt.want {
			t.Errorf("%s: %q is quoted as %q, want %q", tt.name, tt.question, got, tt.want)
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
