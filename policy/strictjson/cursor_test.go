package strictjson

import (
	"testing"

	"pgregory.net/rapid"
)

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
