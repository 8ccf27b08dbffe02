package conversation

import "testing"

// A text ends with half a character if its last characters are U+FFFD, however they are written.
func TestHalfACharacterAtTheEndIsFound(t *testing.T) {
	for raw, whole := range map[string]int{
		"": 0, "a": 1, "a\uFFFD": 1, `a\ufffd`: 1, `a\uFFFD\ufffd`: 1, "\uFFFD": 0, "\uFFFDa": 4,
		`a\\ufffd`: 8, `a\n` + "\uFFFD": 3, `\ud83d\ude00\ufffd`: 12,
		"a\uFFFD\uFFFD\uFFFD\uFFFD": 1, "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD": 16,
	} {
		if got := wholeEnd([]byte(raw)); got != whole {
			t.Errorf("%q is whole up to %d, want %d", raw, got, whole)
		}
	}
}
