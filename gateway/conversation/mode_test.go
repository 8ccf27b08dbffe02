package conversation

import (
	"fmt"
	"strings"
	"testing"
)

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

// Frames that prove nothing are held in bounds, whatever else they have: without a text, or with much under unknown names.
func TestHeldFramesAreBounded(t *testing.T) {
	frame := func(text string, more int) []byte {
		return fmt.Appendf(nil, `data:{"output":{"choices":[{"message":{"content":%q}}]},"more":%q}`+"\n\n", text, strings.Repeat("x", more))
	}
	for about, c := range map[string]struct {
		text string // of all frames but the first two
		more int
	}{
		"no text": {"", 0}, "much more beside no text": {"", 200 << 10}, "the same text": {"ab", 0}, "much more beside it": {"ab", 200 << 10},
	} {
		t.Run(about, func(t *testing.T) {
			s := new(Stream)
			s.Begin(silent{})
			feed := func(frame []byte) {
				if _, err := s.Append(nil, frame); err != nil {
					t.Fatal(err)
				}
			}
			feed(frame("a", 0))
			feed(frame("ab", c.more))
			most, bytes := 0, 0
			for range 200 {
				feed(frame(c.text, c.more))
				held := 0
				for _, f := range s.held {
					held += len(f)
				}
				most, bytes = max(most, len(s.held)), max(bytes, held)
			}
			if most > MostHeld || bytes > mostHeldBytes+(1<<10) || len(s.held) > 0 {
				t.Errorf("%d frames with %d bytes were held, %d at the end", most, bytes, len(s.held))
			}
		})
	}
}

// Pieces that grow by chance do not prove that each repeats the text before: too few bytes are repeated.
func TestShortPiecesThatGrowAreHeld(t *testing.T) {
	s := new(Stream)
	s.Begin(silent{})
	for _, text := range []string{"ha", "haha", "hahaha", "hahahaha"} {
		if _, err := s.Append(nil, []byte(`data:{"output":{"choices":[{"message":{"content":"`+text+"\"}}]}}\n\n")); err != nil {
			t.Fatal(err)
		}
	}
	if s.mode.decided || len(s.held) != 3 {
		t.Errorf("decided %t, %d frames are held", s.mode.decided, len(s.held))
	}
}
