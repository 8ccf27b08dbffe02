package prose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split returns the tokens of s.
func split(s string) []string {
	var out []string
	for len(s) > 0 {
		n := Piece(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func TestPiece(t *testing.T) {
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
		if diff := cmp.Diff(tt.want, split(tt.text)); diff != "" {
			t.Errorf("tokens of %q (-want +got):\n%s", tt.text, diff)
		}
		if got := Tokens(tt.text); got != len(tt.want) {
			t.Errorf("Tokens(%q) = %d, want %d", tt.text, got, len(tt.want))
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
		got, count := FirstTokens(text, tt.n)
		if got != tt.want || count != tt.count {
			t.Errorf("FirstTokens(%d) = %q, %d, want %q, %d", tt.n, got, count, tt.want, tt.count)
		}
	}
}

func FuzzPiece(f *testing.F) {
	f.Add("A sluice, 水闸 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := strings.Join(split(s), ""); got != s {
			t.Errorf("tokens of %q join to %q", s, got)
		}
		if head, n := FirstTokens(s, Tokens(s)); head != s || n != Tokens(s) {
			t.Errorf("all tokens of %q are %q, %d", s, head, n)
		}
	})
}
